//! The exact denoisers, the sampler and the metrics against closed forms, on the CPU engine.

use crate::common;

use common::native;
use hidden_gaussian::compute::Engine;

common::tests_of!(closed_forms, native, Some(Engine::cpu()));
common::tests_of!(distillation, native, Some(Engine::cpu()));
common::tests_of!(self_check, native, Some(Engine::cpu()));
