//! Every stage gives the same numbers on both engines.

use crate::common;

use common::native_gpu;

common::tests_of!(stages, native_gpu, common::gpu());
