//! Convolutions, the stages around them and the U-Net give the same numbers on both engines.

use crate::common;

use common::native;

common::tests_of!(conv_stages, native, common::gpu());
