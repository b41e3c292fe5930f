//! The exact denoisers, the sampler and the metrics against closed forms, on the CPU engine.

use crate::common;

use common::native_cpu;
use hidden_gaussian::compute::Engine;

common::tests_of!(closed_forms, native_cpu, Engine::cpu());
common::tests_of!(distillation, native_cpu, Engine::cpu());
common::tests_of!(self_check, native_cpu, Engine::cpu());
common::tests_of!(theories, native_cpu, Engine::cpu());
