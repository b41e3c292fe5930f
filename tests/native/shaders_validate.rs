//! Every shader parses, is valid WGSL, and declares the same as its Rust twin: the same parameters, the
//! same bindings in the same order, the same name.
#![expect(clippy::panic, reason = "a test fails by panicking")]

use std::collections::BTreeSet;

use hidden_gaussian::compute::{Access, Kernel};
use hidden_gaussian::kernels;
use naga::{AddressSpace, Module, ScalarKind, StorageAccess, TypeInner};

/// The constants that Rust puts in front of a kernel, each with its possible values.
fn constants(kernel: &Kernel) -> Vec<(&'static str, &'static [u32])> {
    const SWITCH: &[u32] = &[0, 1];
    const THREADS: &[u32] = &[4, 16];
    const SHARERS: (&str, &[u32]) = ("SHARERS", &[1, 4]);
    const WORKGROUP_WORDS: (&str, &[u32]) = ("WORKGROUP_WORDS", &[4096]);
    const WIDE: (&str, &[u32]) = ("WIDE", &[1, 4]);
    const ROW_THREADS: (&str, &[u32]) = ("ROW_THREADS", &[4, 64]);
    const HARDWARE: (&str, &[u32]) = ("HARDWARE", SWITCH);
    match kernel.name {
        "matmul" | "matmul_vec4" | "matmul_workgroup" => vec![
            ("LAYOUT", &[0, 1, 2]),
            ("KEEP", &[0, 1, 2]),
            ("BIAS", SWITCH),
            ("SILU", SWITCH),
            ("ROWS", &[1, 16]),
            ("COLS", &[1, 16]),
            ("QUADS_X", &[1, 4]),
            ("QUADS_Y", &[1, 4]),
            ("THREADS_X", THREADS),
            ("THREADS_Y", THREADS),
            ("DEPTH", &[8, 16]),
            SHARERS,
            WORKGROUP_WORDS,
            ("SPLIT", SWITCH),
            HARDWARE,
        ],
        "conv" => vec![
            ("ADJOINT", SWITCH),
            ("QUADS_Y", &[1, 4]),
            ("QUADS_X", &[1, 4]),
            ("STEP", &[1, 4]),
            ("UNROLL", &[1, 4]),
            WIDE,
            ("SILU", SWITCH),
            HARDWARE,
            ("THREADS_X", THREADS),
            ("THREADS_Y", THREADS),
            SHARERS,
            WORKGROUP_WORDS,
        ],
        "conv_weight_backward" => {
            vec![("QUADS_Y", &[1, 4]), ("QUADS_X", &[1, 4]), WIDE, ("EVEN", SWITCH), HARDWARE]
        }
        "column_sums" => vec![WIDE, ("SHARERS", &[1, 8]), ("SHARED", SWITCH)],
        "adam" | "sgd" => vec![WIDE, ("EACH", &[4])],
        "film_backward" | "group_film_silu" => vec![WIDE],
        "square_sums" => vec![WIDE, ROW_THREADS],
        "denoising_loss"
        | "norm_film_silu"
        | "norm_film_silu_backward"
        | "finish_step"
        | "rank_candidates"
        | "refine_mean" => vec![ROW_THREADS],
        _ => Vec::new(),
    }
}

/// Choices of a kernel's constants that cover each value and each pair of values.
fn choices(kernel: &Kernel) -> Vec<Vec<(&'static str, u32)>> {
    let constants = constants(kernel);
    let first: Vec<_> = constants.iter().map(|(name, values)| (*name, values[0])).collect();
    let mut all = BTreeSet::from([first.clone()]);
    for (i, (_, values)) in constants.iter().enumerate() {
        for (j, (_, others)) in constants.iter().enumerate() {
            for (&value, &other) in values.iter().flat_map(|v| others.iter().map(move |o| (v, o))) {
                let mut choice = first.clone();
                choice[i].1 = value;
                choice[j].1 = other;
                all.insert(choice);
            }
        }
    }
    all.into_iter().collect()
}

/// Parses the first choice, for what is the same in all.
fn parse(kernel: &Kernel) -> Module {
    parse_as(kernel, &choices(kernel)[0])
}

fn parse_as(kernel: &Kernel, constants: &[(&'static str, u32)]) -> Module {
    let source = kernel.source(constants);
    let module = naga::front::wgsl::parse_str(&source)
        .unwrap_or_else(|error| panic!("{}", error.emit_to_string_with_path(&source, kernel.name)));
    let mut validator = naga::valid::Validator::new(
        naga::valid::ValidationFlags::all(),
        naga::valid::Capabilities::empty(),
    );
    validator
        .validate(&module)
        .unwrap_or_else(|error| panic!("{}", error.emit_to_string_with_path(&source, kernel.name)));
    module
}

#[test]
fn shaders_are_valid() {
    for kernel in kernels::ALL {
        for constants in choices(kernel) {
            let module = parse_as(kernel, &constants);
            let entry = &module.entry_points[0];
            assert_eq!(entry.name, "main", "{}", kernel.name);
            let threads: u32 = entry.workgroup_size.iter().product();
            assert!(threads <= 256, "{}: {threads} threads to a workgroup", kernel.name);
        }
    }
}

#[test]
fn parameters_match() {
    for kernel in kernels::ALL {
        let module = parse(kernel);
        let (_, params) = module
            .types
            .iter()
            .find(|(_, ty)| ty.name.as_deref() == Some("Params"))
            .unwrap_or_else(|| panic!("{} has no struct Params", kernel.name));
        let TypeInner::Struct { members, .. } = &params.inner else { panic!("{}", kernel.name) };
        let declared: Vec<_> = members
            .iter()
            .map(|member| {
                let TypeInner::Scalar(scalar) = module.types[member.ty].inner else {
                    panic!("{}: parameters are scalars", kernel.name)
                };
                let ty = if scalar.kind == ScalarKind::Float { "f32" } else { "u32" };
                (member.name.as_deref().unwrap_or_default().to_owned(), ty, member.offset)
            })
            .collect();
        let expected: Vec<_> = kernel
            .params
            .iter()
            .enumerate()
            .map(|(i, (name, ty))| ((*name).to_owned(), *ty, 4 * i as u32))
            .collect();
        assert_eq!(declared, expected, "{}", kernel.name);
    }
}

#[test]
fn bindings_match() {
    for kernel in kernels::ALL {
        let module = parse(kernel);
        let mut declared: Vec<_> = module
            .global_variables
            .iter()
            .filter_map(|(_, variable)| {
                let binding = variable.binding.as_ref()?;
                assert_eq!(binding.group, 0, "{}", kernel.name);
                let access = match variable.space {
                    AddressSpace::Storage { access } if access.contains(StorageAccess::STORE) => {
                        Some(Access::Write)
                    }
                    AddressSpace::Storage { .. } => Some(Access::Read),
                    _ => None,
                };
                Some((binding.binding, variable.name.clone().unwrap_or_default(), access))
            })
            .collect();
        declared.sort_by_key(|(binding, ..)| *binding);
        let mut expected = vec![(0, "views".to_owned(), None), (1, "p".to_owned(), None)];
        expected.extend(
            kernel
                .bindings
                .iter()
                .zip(2..)
                .map(|((name, access), i)| (i, (*name).to_owned(), Some(*access))),
        );
        assert_eq!(declared, expected, "{}", kernel.name);
    }
}

/// Every file in `shaders/` belongs to a kernel of the same name, and every kernel is in the list.
#[test]
fn names_match() {
    let root = env!("CARGO_MANIFEST_DIR");
    let stems = |folder: &str, ending: &str| -> BTreeSet<String> {
        let files = std::fs::read_dir(format!("{root}/{folder}")).unwrap();
        files
            .filter_map(|file| {
                file.unwrap()
                    .file_name()
                    .into_string()
                    .unwrap()
                    .strip_suffix(ending)
                    .map(str::to_owned)
            })
            .filter(|stem| stem != "mod")
            .collect()
    };
    let kernels: BTreeSet<String> =
        kernels::ALL.iter().map(|kernel| kernel.name.to_owned()).collect();
    assert_eq!(stems("shaders", ".wgsl"), kernels);
    assert_eq!(stems("src/kernels", ".rs"), kernels);
}
