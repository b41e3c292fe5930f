//! Convolutions, the stages around them and the U-Net give the same numbers on both engines.

use crate::common;

use common::native_gpu;

common::tests_of!(conv_stages, native_gpu, common::gpu());
