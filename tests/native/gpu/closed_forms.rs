//! The exact denoisers, the sampler and the metrics against closed forms, on the GPU engine.

use crate::common;

use common::native_gpu;

common::tests_of!(closed_forms, native_gpu, common::gpu());
common::tests_of!(distillation, native_gpu, common::gpu());
common::tests_of!(self_check, native_gpu, common::gpu());
common::tests_of!(theories, native_gpu, common::gpu());
