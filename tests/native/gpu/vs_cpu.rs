//! Every stage gives the same numbers on both engines.

use crate::common;

use common::native;

common::tests_of!(stages, native, common::gpu());
