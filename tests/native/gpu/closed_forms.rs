//! The exact denoisers, the sampler and the metrics against closed forms, on the GPU engine.

use crate::common;

use common::native;

common::tests_of!(closed_forms, native, common::gpu());
common::tests_of!(distillation, native, common::gpu());
common::tests_of!(self_check, native, common::gpu());
common::tests_of!(theories, native, common::gpu());
