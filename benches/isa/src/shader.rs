//! WGSL, read by naga and written as SPIR-V, as wgpu does it.

use std::ffi::CString;

use anyhow::{Context, Result, anyhow};
use naga::back::spv;
use naga::proc::{BoundsCheckPolicies, BoundsCheckPolicy};
use naga::valid::{Capabilities, ValidationFlags, Validator};
use naga::{AddressSpace, Module};

/// What a binding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resource {
    /// A uniform buffer.
    Uniform,
    /// A storage buffer.
    Storage,
}

/// A compute shader.
pub struct Shader {
    /// As naga has read it.
    pub module: Module,
    /// The name of its entry point.
    pub entry: CString,
    /// Threads of a workgroup.
    pub workgroup: [u32; 3],
    /// Bindings of each group.
    pub resources: Vec<Vec<(u32, Resource)>>,
    /// The SPIR-V that a driver gets.
    pub spirv: Vec<u32>,
}

impl Shader {
    /// Reads `wgsl`, whose only entry point is a compute shader.
    pub fn new(wgsl: &str) -> Result<Self> {
        let module = naga::front::wgsl::parse_str(wgsl)
            .map_err(|error| anyhow!("{}", error.emit_to_string(wgsl)))?;
        let info = Validator::new(ValidationFlags::all(), Capabilities::all())
            .validate(&module)
            .map_err(|error| anyhow!("{}", error.emit_to_string(wgsl)))?;
        let entry = module.entry_points.first().context("a shader without an entry point")?;
        let (name, workgroup) = (entry.name.clone(), entry.workgroup_size);
        let mut resources: Vec<Vec<(u32, Resource)>> = Vec::new();
        for (_, variable) in module.global_variables.iter() {
            let Some(binding) = variable.binding else { continue };
            let resource = match variable.space {
                AddressSpace::Uniform => Resource::Uniform,
                _ => Resource::Storage,
            };
            let group = binding.group as usize;
            resources.resize(resources.len().max(group + 1), Vec::new());
            resources[group].push((binding.binding, resource));
        }
        // As Chromium does it where the driver keeps indices within buffers. Firefox and wgpu itself also
        // bound every loop by a counter. That workgroup memory is cleared is left out: everybody does it in
        // another way, and it takes a few instructions.
        let unchecked = BoundsCheckPolicy::Unchecked;
        let options = spv::Options {
            lang_version: (1, 6),
            flags: spv::WriterFlags::empty(),
            bounds_check_policies: BoundsCheckPolicies {
                index: BoundsCheckPolicy::Restrict,
                buffer: unchecked,
                image_load: unchecked,
                binding_array: unchecked,
            },
            zero_initialize_workgroup_memory: spv::ZeroInitializeWorkgroupMemoryMode::None,
            force_loop_bounding: false,
            ..spv::Options::default()
        };
        let pipeline = spv::PipelineOptions {
            shader_stage: naga::ShaderStage::Compute,
            entry_point: name.clone(),
        };
        let spirv = spv::write_vec(&module, &info, &options, Some(&pipeline))?;
        Ok(Self { module, entry: CString::new(name)?, workgroup, resources, spirv })
    }
}
