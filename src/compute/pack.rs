//! Packs: stages that are independent of each other share a dispatch. On a GPU in hardware a dispatch costs
//! tens of microseconds, whatever it does, and that is most of the time of a small network's step.
//!
//! Stages are recorded one by one, and the CPU runs them one by one. For the GPU they are put into *packs*,
//! each stage as early as its reads and writes allow. A pack's shader holds the source of its stages one
//! after the other, each name with the number of its stage, and a `main` that assigns every workgroup to
//! one stage. Their uniforms lie in one buffer: Mesa's software adapter writes past the end of its own memory
//! for a shader with five, if a branch or a loop depends on them (`lvp_inline_uniforms.c`, 22.3).

use super::program::{Access, MAX_BINDINGS, MAX_PARAMS, Profile, Scope, Stage};

/// Most stages in a pack.
const MAX_STAGES: usize = 5;

/// How many packs back a stage may go, so that packing a long routine stays fast.
const WINDOW: usize = 12;

/// The threads of a stage's workgroup, as its shader declares them.
fn threads(stage: &Stage) -> u32 {
    let value = |name| stage.constants.iter().find(|(known, _)| *known == name).map(|(_, v)| *v);
    match (value("THREADS_X"), value("THREADS_Y"), value("ROW_THREADS")) {
        (Some(x), Some(y), _) => x * y,
        (.., Some(threads)) => threads,
        _ => 64,
    }
}

/// A storage buffer that stages of a pack share.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Slot {
    /// The buffer's id.
    pub(super) buffer: usize,
    /// The type of its elements in the shader.
    element: String,
    pub(super) access: Access,
}

/// Stages of one dispatch.
#[derive(Debug, Clone)]
pub struct Pack<'a> {
    /// The stages, in the order in which they were recorded.
    pub stages: Vec<&'a Stage>,
    /// The storage buffers of its stages.
    pub(super) slots: Vec<Slot>,
    /// For each stage and each of its bindings, the index of the buffer in `slots`.
    pub(super) bound: Vec<Vec<usize>>,
}

impl<'a> Pack<'a> {
    const fn empty() -> Self {
        Self { stages: Vec::new(), slots: Vec::new(), bound: Vec::new() }
    }

    /// The number of workgroups of all stages, side by side.
    pub(super) fn workgroups(&self) -> u64 {
        self.stages.iter().map(|stage| groups(stage)).sum()
    }

    /// The pack with `stage` added, if it fits.
    fn with(&self, stage: &'a Stage, elements: &[String], max_workgroups: u32) -> Option<Self> {
        let alike = self.stages.iter().all(|other| threads(other) == threads(stage));
        if !alike || self.stages.len() == MAX_STAGES {
            return None;
        }
        let mut pack = self.clone();
        let mut bound = Vec::new();
        for ((binding, (_, access)), element) in
            stage.bindings.iter().zip(stage.kernel.bindings).zip(elements)
        {
            let slot =
                Slot { buffer: binding.view.buffer.id, element: element.clone(), access: *access };
            let same = |known: &Slot| known.buffer == slot.buffer;
            let like = |known: &Slot| same(known) && known.element == slot.element;
            let at = pack.slots.iter().position(like).unwrap_or_else(|| {
                pack.slots.push(slot.clone());
                pack.slots.len() - 1
            });
            if *access == Access::Write {
                pack.slots[at].access = Access::Write;
            }
            // A buffer that is written may be bound only once.
            let twice = pack.slots.iter().filter(|known| same(known)).count() > 1;
            let written = |known: &Slot| same(known) && known.access == Access::Write;
            if twice && pack.slots.iter().any(written) {
                return None;
            }
            bound.push(at);
        }
        pack.stages.push(stage);
        pack.bound.push(bound);
        let fits =
            pack.slots.len() <= MAX_BINDINGS && pack.workgroups() <= u64::from(max_workgroups);
        fits.then_some(pack)
    }

    /// The storage buffers that its shader binds, and their access. A single stage may bind a buffer several
    /// times.
    pub(super) fn buffers(&self) -> Vec<(usize, Access)> {
        match &self.stages[..] {
            [stage] => {
                let access = stage.kernel.bindings.iter().map(|(_, access)| *access);
                let ids = stage.bindings.iter().map(|binding| binding.view.buffer.id);
                ids.zip(access).collect()
            }
            _ => self.slots.iter().map(|slot| (slot.buffer, slot.access)).collect(),
        }
    }

    /// The names of the pack's kernels.
    #[must_use]
    pub fn name(&self) -> String {
        self.stages.iter().map(|stage| stage.kernel.name).collect::<Vec<_>>().join(" + ")
    }

    /// The contents of its uniform buffers, which come before the storage buffers: where each binding begins for
    /// member `first`, and the parameters. Several stages have one buffer, which begins with the first workgroup of
    /// each and the length of its rows.
    pub(super) fn uniforms(&self, first: usize) -> Vec<Vec<u32>> {
        if let [stage] = &self.stages[..] {
            return vec![views(stage, first), stage.params.to_vec()];
        }
        let mut begin = 0;
        let parts = self.stages.iter().flat_map(|stage| {
            let [x, y] = stage.workgroups;
            begin += x * y;
            [begin - x * y, x, 0, 0]
        });
        let mut words: Vec<u32> = parts.collect();
        for stage in &self.stages {
            words.extend(views(stage, first));
            words.extend(stage.params);
        }
        vec![words]
    }

    /// How many uniform buffers it has.
    pub(super) const fn uniform_buffers(&self) -> usize {
        if self.stages.len() > 1 { 1 } else { 2 }
    }

    /// Identifies the pack's shader among those of other packs.
    pub(super) fn key(&self) -> PackKey {
        let variant = |stage: &&Stage| (stage.kernel.name, stage.constants.clone());
        let variants = self.stages.iter().map(variant).collect();
        let slots = self.slots.iter().map(|slot| (slot.element.clone(), slot.access)).collect();
        PackKey { variants, bound: self.bound.clone(), slots }
    }

    /// The pack's WGSL source.
    #[must_use]
    pub fn source(&self, rewrite: impl Fn(&str, String) -> String) -> String {
        let texts = self
            .stages
            .iter()
            .map(|stage| rewrite(stage.kernel.name, stage.kernel.source(&stage.constants)));
        let texts: Vec<String> = texts.collect();
        if let [text] = &texts[..] {
            return text.clone();
        }
        merge(&texts, &self.slots, &self.bound)
    }
}

/// See [`Pack::key`].
#[derive(Debug, Clone, PartialEq)]
pub(super) struct PackKey {
    variants: Vec<(&'static str, Vec<(&'static str, u32)>)>,
    bound: Vec<Vec<usize>>,
    slots: Vec<(String, Access)>,
}

/// Where each binding of a stage begins for member `first`, and how far it is to the next member.
fn views(stage: &Stage, first: usize) -> Vec<u32> {
    let mut views = vec![0; 2 * MAX_BINDINGS];
    for (i, binding) in stage.bindings.iter().enumerate() {
        let buffer = binding.view.buffer;
        let stride = if buffer.scope() == Scope::Member { buffer.len() } else { 0 };
        views[i] = (binding.view.offset + first * stride) as u32;
        views[MAX_BINDINGS + i] = stride as u32;
    }
    views
}

fn groups(stage: &Stage) -> u64 {
    stage.workgroups.iter().map(|&count| u64::from(count)).product()
}

/// Puts the stages of a routine into packs, or each into its own where the profile says so.
#[must_use]
pub fn packs<'a>(stages: &'a [Stage], profile: &Profile) -> Vec<Pack<'a>> {
    let mut packs: Vec<Pack<'a>> = Vec::new();
    let mut known: Vec<(PackKey, Vec<String>)> = Vec::new();
    let window = if profile.packs { WINDOW } else { 0 };
    for stage in stages {
        let key = Pack { stages: vec![stage], ..Pack::empty() }.key();
        let elements = match known.iter().position(|(other, _)| *other == key) {
            Some(at) => &known[at].1,
            None => {
                let elements = elements(&stage.kernel.source(&stage.constants));
                known.push((key, elements));
                &known[known.len() - 1].1
            }
        };
        let open = packs.len().saturating_sub(window);
        let waits = |pack: &Pack<'_>| pack.stages.iter().any(|other| conflict(other, stage));
        let last = packs[open..].iter().rposition(waits).map(|at| open + at + 1);
        let max = profile.max_workgroups;
        let found = (last.unwrap_or(open)..packs.len())
            .find_map(|at| Some((at, packs[at].with(stage, elements, max)?)));
        match found {
            Some((at, pack)) => packs[at] = pack,
            // A single stage may have more workgroups: they need not lie in one row.
            None => packs.extend(Pack::empty().with(stage, elements, u32::MAX)),
        }
    }
    packs
}

/// Whether one of two stages writes what the other reads or writes.
fn conflict(a: &Stage, b: &Stage) -> bool {
    a.bindings.iter().zip(a.kernel.bindings).any(|(x, (_, x_access))| {
        b.bindings.iter().zip(b.kernel.bindings).any(|(y, (_, y_access))| {
            let (x_first, y_first) = (x.view.offset, y.view.offset);
            x.view.buffer.id == y.view.buffer.id
                && (*x_access == Access::Write || *y_access == Access::Write)
                && x_first < y_first + y.extent
                && y_first < x_first + x.extent
        })
    })
}

/// Splits WGSL source into words, numbers and signs.
fn tokens(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let first = rest.chars().next()?;
        let in_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let len = if first.is_ascii_digit() {
            rest.find(|c: char| !in_word(c) && c != '.').unwrap_or(rest.len())
        } else if in_word(first) {
            rest.find(|c: char| !in_word(c)).unwrap_or(rest.len())
        } else {
            first.len_utf8()
        };
        let (token, after) = rest.split_at(len);
        rest = after;
        Some(token)
    })
}

/// Splits WGSL source into declarations: the text outside all braces up to the next `;` or `{`, and the
/// braces that follow.
fn declarations(text: &str) -> Vec<(&str, &str)> {
    let mut all = Vec::new();
    let (mut start, mut body, mut depth) = (0, 0, 0_usize);
    for (at, sign) in text.char_indices() {
        match sign {
            '{' => {
                if depth == 0 {
                    body = at;
                }
                depth += 1;
            }
            '}' => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    all.push((&text[start..body], &text[body..=at]));
                    start = at + 1;
                }
            }
            ';' if depth == 0 => {
                all.push((&text[start..at], ""));
                start = at + 1;
            }
            _ => {}
        }
    }
    all
}

/// The name that a declaration introduces.
fn name(head: &str) -> Option<&str> {
    let mut words = tokens(head).filter(|token| !token.trim().is_empty());
    while let Some(word) = words.next() {
        match word {
            "fn" | "struct" | "alias" | "const" => return words.next(),
            "var" => {
                // The address space stands in between.
                let after = words.by_ref().skip_while(|token| *token != ">").nth(1);
                return after;
            }
            _ => {}
        }
    }
    None
}

/// The number of the storage binding that a declaration introduces, from 0, and the text after its name.
fn storage(head: &str) -> Option<(usize, &str)> {
    let (_, after) = head.split_once("@binding(")?;
    let (number, after) = after.split_once(')')?;
    let (_, ty) = after.split_once("var<storage")?.1.split_once(':')?;
    Some((number.trim().parse::<usize>().ok()?.checked_sub(2)?, ty.trim()))
}

/// The element types of a shader's storage buffers, in order.
fn elements(text: &str) -> Vec<String> {
    let declarations = declarations(text);
    let alias = declarations.iter().find_map(|(head, _)| head.trim().strip_prefix("alias Value ="));
    let mut found: Vec<_> = declarations.iter().filter_map(|(head, _)| storage(head)).collect();
    found.sort_by_key(|(number, _)| *number);
    let value = alias.unwrap_or_default().trim();
    found.into_iter().map(|(_, ty)| ty.replace("Value", value)).collect()
}

/// Merges several shaders into one.
fn merge(texts: &[String], slots: &[Slot], bound: &[Vec<usize>]) -> String {
    let mut out = String::from("@group(0) @binding(0) var<uniform> uniforms: Uniforms;\n");
    let mut uniforms = format!("struct Uniforms {{\nparts: array<vec4u, {}>,\n", texts.len());
    for (i, slot) in slots.iter().enumerate() {
        let access = if slot.access == Access::Write { "read_write" } else { "read" };
        let (at, Slot { element, .. }) = (1 + i, slot);
        out += &format!("@group(0) @binding({at}) var<storage, {access}> slot_{i}: {element};\n");
    }
    let mut words = 0;
    let mut main = String::new();
    for (i, (text, bound)) in texts.iter().zip(bound).enumerate() {
        let declarations = declarations(text);
        let names: Vec<&str> = declarations.iter().filter_map(|(head, _)| name(head)).collect();
        let binding = |head: &str| storage(head).and_then(|(number, _)| bound.get(number));
        let named: Vec<_> = declarations
            .iter()
            .filter_map(|(head, _)| Some((name(head)?, *binding(head)?)))
            .collect();
        let renamed = |word: &str| {
            let slot = named.iter().find(|(known, _)| *known == word);
            match (slot, word) {
                (Some((_, slot)), _) => format!("slot_{slot}"),
                (None, "views" | "p") => format!("uniforms.{word}_{i}"),
                _ => format!("{word}_{i}"),
            }
        };
        let rename = |text: &str, in_struct: bool, out: &mut String| {
            let all: Vec<&str> = tokens(text).collect();
            for (at, token) in all.iter().enumerate() {
                let field = at > 0 && all[at - 1] == "."
                    || in_struct && all.get(at + 1).is_some_and(|next| *next == ":");
                if *token != WORKGROUP_MEMORY && !field && names.contains(token) {
                    *out += &renamed(token);
                } else {
                    *out += token;
                }
            }
        };
        let mut size = String::new();
        for (head, body) in &declarations {
            if head.contains("var<storage") {
                continue;
            }
            if name(head) == Some(WORKGROUP_MEMORY) {
                // A workgroup runs only one stage, so stages can share this memory.
                words = words.max(workgroup_words(text));
                continue;
            }
            if let Some((attributes, parameters)) = head.split_once("fn main(") {
                rename(
                    attributes.split_once("@workgroup_size").map_or("", |(_, s)| s),
                    false,
                    &mut size,
                );
                let (plain, arguments) = entry(parameters, size.trim());
                out += &format!("fn main_{i}({plain}) ");
                rename(body, false, &mut out);
                out.push('\n');
                main += &branch(i, texts.len(), &arguments);
                continue;
            }
            if let Some((_, declared)) = head.split_once("var<uniform>") {
                let (word, ty) = declared.split_once(':').unwrap_or_default();
                let [word, ty] = [word.trim(), ty.trim()];
                let words = if word == "p" { MAX_PARAMS } else { 2 * MAX_BINDINGS };
                uniforms += &format!("@align(16) @size({}) {word}_{i}: {ty}_{i},\n", 4 * words);
                continue;
            }
            rename(head.trim(), false, &mut out);
            rename(body, head.trim_start().starts_with("struct"), &mut out);
            out += if body.is_empty() { ";\n" } else { "\n" };
        }
        if i == 0 {
            main = format!(
                "@compute @workgroup_size{size}\nfn main(@builtin(workgroup_id) at: vec3u, @builtin(local_invocation_index) lane: u32) {{\n{main}"
            );
        }
    }
    if words > 0 {
        out += &format!("var<workgroup> {WORKGROUP_MEMORY}: array<f32, {words}>;\n");
    }
    out + &uniforms + "}\n" + &main + "}\n"
}

/// The name of the workgroup memory that large kernels declare. A pack declares it once.
const WORKGROUP_MEMORY: &str = "workgroup_memory";

/// How many words of workgroup memory a shader needs.
fn workgroup_words(text: &str) -> u32 {
    let words = text.split_once("const WORKGROUP_WORDS = ").map_or("", |(_, after)| after);
    words.split('u').next().and_then(|digits| digits.parse().ok()).unwrap_or(0)
}

/// The parameters of an entry point without their attributes, and the arguments to call it with.
fn entry(parameters: &str, size: &str) -> (String, String) {
    let (mut plain, mut arguments) = (String::new(), String::new());
    for parameter in parameters.split("@builtin(").skip(1) {
        let (kind, rest) = parameter.split_once(')').unwrap_or_default();
        let declared = rest.trim().trim_end_matches([',', ')', ' ', '\n']);
        plain += &format!("{declared}, ");
        arguments += match kind.trim() {
            "global_invocation_id" => "vec3u(group.x * (SIZE) + lane, group.yz), ",
            "workgroup_id" => "group, ",
            _ => "lane, ",
        };
    }
    (plain, arguments.replace("(SIZE)", size))
}

/// The part of `main` that assigns workgroups to stage `i` of `count`.
fn branch(i: usize, count: usize, arguments: &str) -> String {
    let next = i + 1;
    let (head, tail) = if next == count {
        ("{\n".to_owned(), "}\n")
    } else {
        (format!("if at.x < uniforms.parts[{next}].x {{\n"), "} else ")
    };
    format!(
        "{head}let part = uniforms.parts[{i}];\nlet index = at.x - part.x;\nlet group = vec3u(index % part.y, index / part.y, at.z);\nmain_{i}({arguments});\n{tail}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "const ROWS = 4u;
const WORKGROUP_WORDS = 12u;
alias Value = vec4f;
struct Params { x: u32, rows: u32 }
@group(0) @binding(0) var<uniform> views: Params;
@group(0) @binding(1) var<uniform> p: Params;
@group(0) @binding(2) var<storage, read> x: array<Value>;
@group(0) @binding(3) var<storage, read_write> out: array<f32>;
var<workgroup> workgroup_memory: array<f32, WORKGROUP_WORDS>;
fn f(v: vec4f) -> f32 { return v.x + 1e-6; }
@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u) {
if id.x < p.x { out[id.x] = f(x[id.x]) + f32(ROWS); }
}
";

    #[test]
    fn names_of_stages_do_not_meet() {
        assert_eq!(elements(TEXT), ["array<vec4f>", "array<f32>"]);
        let slot = |buffer, element: &str, access| Slot { buffer, element: element.into(), access };
        let slots = [
            slot(3, "array<vec4f>", Access::Read),
            slot(5, "array<f32>", Access::Write),
            slot(7, "array<f32>", Access::Write),
        ];
        let merged = merge(&[TEXT.into(), TEXT.into()], &slots, &[vec![0, 1], vec![0, 2]]);
        for expected in [
            "@group(0) @binding(1) var<storage, read> slot_0: array<vec4f>;",
            "@group(0) @binding(3) var<storage, read_write> slot_2: array<f32>;",
            "struct Params_1{ x: u32, rows: u32 }",
            "@align(16) @size(96) p_1: Params_1,",
            "if id.x < uniforms.p_1.x { slot_2[id.x] = f_1(slot_0[id.x]) + f32(ROWS_1); }",
            "return v.x + 1e-6;",
            "main_1(vec3u(group.x * (64) + lane, group.yz), );",
        ] {
            assert!(merged.contains(expected), "{expected} is not in\n{merged}");
        }
        assert_eq!(merged.matches("var<workgroup>").count(), 1, "{merged}");
    }
}
