//! Mesa's Vulkan driver for AMD GPUs, as a compiler for GPUs that are not here.
//!
//! With `RADV_FORCE_FAMILY` set it offers a device without hardware. Nothing can run there, but pipelines
//! compile, and `VK_KHR_pipeline_executable_properties` tells what came out.
#![expect(unsafe_code, reason = "Vulkan is called as it is: wgpu refuses a device that cannot run")]

use std::ffi::CStr;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use anyhow::{Context, Result, ensure};
use ash::{khr::pipeline_executable_properties, vk};

use crate::shader::{Resource, Shader};

/// Where distributions put the driver's manifest.
const MANIFESTS: [&str; 3] = [
    "/usr/share/vulkan/icd.d/radeon_icd.x86_64.json",
    "/usr/share/vulkan/icd.d/radeon_icd.aarch64.json",
    "/usr/share/vulkan/icd.d/radeon_icd.json",
];

fn manifest() -> Option<&'static str> {
    MANIFESTS.into_iter().find(|path| Path::new(path).exists())
}

/// What the compiler says about a pipeline.
#[derive(Debug, Clone, Default)]
pub struct Statistics {
    /// Vector registers of a thread.
    pub vgprs: u64,
    /// Scalar registers of a wave.
    pub sgprs: u64,
    /// Vector registers that had to go to memory.
    pub spilled_vgprs: u64,
    /// Scalar registers that had to go elsewhere.
    pub spilled_sgprs: u64,
    /// Bytes of a workgroup's memory.
    pub lds: u64,
    /// Waves that a SIMD holds at a time.
    pub waves: u64,
    /// Instructions in the text.
    pub instructions: u64,
    /// Cycles between two waves of 64 by the compiler's own estimate, which takes every loop to run eight
    /// times.
    pub inverse_throughput: u64,
    /// Threads of a wave.
    pub wave_size: u32,
    /// The disassembly.
    pub assembly: String,
}

impl Statistics {
    /// Registers of both kinds that had to go elsewhere.
    pub const fn spilled(&self) -> u64 {
        self.spilled_vgprs + self.spilled_sgprs
    }
}

/// A device of one family.
pub struct Compiler {
    _entry: ash::Entry,
    instance: ash::Instance,
    device: ash::Device,
    executables: pipeline_executable_properties::Device,
}

impl Compiler {
    /// A compiler for the GPUs that RADV calls `family`.
    pub fn new(family: &str) -> Result<Self> {
        let manifest = manifest()
            .context("Mesa's RADV driver is not installed: Debian's mesa-vulkan-drivers has it")?;
        let variables = [
            ("VK_ICD_FILENAMES", manifest),
            ("VK_DRIVER_FILES", manifest),
            ("RADV_FORCE_FAMILY", family),
            // Else pipelines of an earlier run come without their statistics.
            ("MESA_SHADER_CACHE_DISABLE", "true"),
        ];
        // Which family it is stands in the environment, so devices are made one after the other.
        static TURN: Mutex<()> = Mutex::new(());
        let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        for (name, value) in variables {
            // SAFETY: no other thread of this program looks at the environment meanwhile.
            unsafe { std::env::set_var(name, value) };
        }
        // SAFETY: all handles come from the calls before, and all structures outlive their calls.
        unsafe {
            let entry = ash::Entry::load().context("there is no Vulkan loader")?;
            let application = vk::ApplicationInfo::default().api_version(vk::API_VERSION_1_3);
            let info = vk::InstanceCreateInfo::default().application_info(&application);
            let instance = entry.create_instance(&info, None)?;
            let physical = instance.enumerate_physical_devices()?;
            let physical = *physical.first().context("RADV offers no device")?;
            let properties = instance.get_physical_device_properties(physical);
            let name = properties.device_name_as_c_str()?.to_string_lossy();
            ensure!(name.contains(family), "RADV offers {name} for {family}");
            let queue = [vk::DeviceQueueCreateInfo::default().queue_priorities(&[1.0])];
            let extensions = [pipeline_executable_properties::NAME, ash::ext::robustness2::NAME]
                .map(CStr::as_ptr);
            // As wgpu and browsers ask for it: what lies outside a buffer reads as nothing.
            let features = vk::PhysicalDeviceFeatures::default().robust_buffer_access(true);
            let mut robustness =
                vk::PhysicalDeviceRobustness2FeaturesEXT::default().robust_buffer_access2(true);
            let mut executable =
                vk::PhysicalDevicePipelineExecutablePropertiesFeaturesKHR::default()
                    .pipeline_executable_info(true);
            let info = vk::DeviceCreateInfo::default()
                .queue_create_infos(&queue)
                .enabled_extension_names(&extensions)
                .enabled_features(&features)
                .push_next(&mut robustness)
                .push_next(&mut executable);
            let device = instance.create_device(physical, &info, None)?;
            let executables = pipeline_executable_properties::Device::new(&instance, &device);
            Ok(Self { _entry: entry, instance, device, executables })
        }
    }

    /// Compiles `shader`.
    pub fn compile(&self, shader: &Shader) -> Result<Statistics> {
        let device = &self.device;
        // SAFETY: all handles come from the calls before, all structures outlive their calls, and the
        // SPIR-V was validated by naga.
        unsafe {
            let info = vk::ShaderModuleCreateInfo::default().code(&shader.spirv);
            let module = device.create_shader_module(&info, None)?;
            let sets = shader.resources.iter().map(|resources| {
                let bindings: Vec<_> = resources.iter().map(binding).collect();
                let info = vk::DescriptorSetLayoutCreateInfo::default().bindings(&bindings);
                device.create_descriptor_set_layout(&info, None)
            });
            let sets = sets.collect::<Result<Vec<_>, _>>()?;
            let info = vk::PipelineLayoutCreateInfo::default().set_layouts(&sets);
            let layout = device.create_pipeline_layout(&info, None)?;
            let stage = vk::PipelineShaderStageCreateInfo::default()
                .stage(vk::ShaderStageFlags::COMPUTE)
                .module(module)
                .name(&shader.entry);
            let info = vk::ComputePipelineCreateInfo::default()
                .flags(
                    vk::PipelineCreateFlags::CAPTURE_STATISTICS_KHR
                        | vk::PipelineCreateFlags::CAPTURE_INTERNAL_REPRESENTATIONS_KHR,
                )
                .stage(stage)
                .layout(layout);
            let pipelines =
                device.create_compute_pipelines(vk::PipelineCache::null(), &[info], None);
            let pipeline = pipelines.map_err(|(_, error)| error)?[0];
            let statistics = self.statistics(pipeline);
            device.destroy_pipeline(pipeline, None);
            device.destroy_pipeline_layout(layout, None);
            for set in sets {
                device.destroy_descriptor_set_layout(set, None);
            }
            device.destroy_shader_module(module, None);
            statistics
        }
    }

    fn statistics(&self, pipeline: vk::Pipeline) -> Result<Statistics> {
        // SAFETY: the pipeline is alive, and was made to be asked.
        unsafe {
            let info = vk::PipelineInfoKHR::default().pipeline(pipeline);
            let mut all = [vk::PipelineExecutablePropertiesKHR::default()];
            let mut count = 1;
            let get = self.executables.fp().get_pipeline_executable_properties_khr;
            get(self.device.handle(), &info, &mut count, all.as_mut_ptr()).result()?;
            let info = vk::PipelineExecutableInfoKHR::default().pipeline(pipeline);
            let mut statistics =
                Statistics { wave_size: all[0].subgroup_size, ..Statistics::default() };
            for statistic in self.executables.get_pipeline_executable_statistics(&info)? {
                let name = statistic.name_as_c_str()?.to_string_lossy();
                let value = statistic.value.u64;
                match &*name {
                    "VGPRs" => statistics.vgprs = value,
                    "SGPRs" => statistics.sgprs = value,
                    "Spilled SGPRs" => statistics.spilled_sgprs = value,
                    "Spilled VGPRs" => statistics.spilled_vgprs = value,
                    "LDS size" => statistics.lds = value,
                    "Subgroups per SIMD" => statistics.waves = value,
                    "Instructions" => statistics.instructions = value,
                    "Inverse Throughput" => statistics.inverse_throughput = value,
                    _ => {}
                }
            }
            statistics.assembly = self.assembly(&info)?;
            Ok(statistics)
        }
    }

    /// The disassembly among a pipeline's internal representations.
    unsafe fn assembly(&self, info: &vk::PipelineExecutableInfoKHR<'_>) -> Result<String> {
        let get = self.executables.fp().get_pipeline_executable_internal_representations_khr;
        let device = self.device.handle();
        let mut count = 0;
        // SAFETY: asked three times as the specification says: how many, how long, and the texts.
        unsafe {
            get(device, info, &mut count, std::ptr::null_mut()).result()?;
            let mut texts =
                vec![vk::PipelineExecutableInternalRepresentationKHR::default(); count as usize];
            get(device, info, &mut count, texts.as_mut_ptr()).result()?;
            let mut bytes: Vec<Vec<u8>> =
                texts.iter().map(|text| vec![0; text.data_size]).collect();
            for (text, bytes) in texts.iter_mut().zip(&mut bytes) {
                text.p_data = bytes.as_mut_ptr().cast();
            }
            get(device, info, &mut count, texts.as_mut_ptr()).result()?;
            for (text, bytes) in texts.iter().zip(&bytes) {
                let name = text.name_as_c_str()?;
                let content = CStr::from_bytes_until_nul(bytes)?.to_string_lossy();
                if name == c"Assembly" {
                    return Ok(content.into_owned());
                }
            }
        }
        anyhow::bail!("the driver has no disassembler")
    }
}

impl Drop for Compiler {
    fn drop(&mut self) {
        // SAFETY: whatever was made of them is destroyed.
        unsafe {
            self.device.destroy_device(None);
            self.instance.destroy_instance(None);
        }
    }
}

fn binding(&(binding, resource): &(u32, Resource)) -> vk::DescriptorSetLayoutBinding<'static> {
    vk::DescriptorSetLayoutBinding::default()
        .binding(binding)
        .descriptor_type(match resource {
            Resource::Uniform => vk::DescriptorType::UNIFORM_BUFFER,
            Resource::Storage => vk::DescriptorType::STORAGE_BUFFER,
        })
        .descriptor_count(1)
        .stage_flags(vk::ShaderStageFlags::COMPUTE)
}
