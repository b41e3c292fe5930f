//! Running a program allocates nothing, and D_M needs no extra memory per image beyond the image itself.
#![expect(unsafe_code, reason = "an allocator that counts is an allocator")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use crate::common;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use common::{random, training};
use hidden_gaussian::compute::{Buffer, Engine, Program, Routine};
use hidden_gaussian::data::TrainingSets;
use hidden_gaussian::denoiser::{Denoiser, Empirical};
use hidden_gaussian::kernels::Sigma;
use pollster::block_on;

struct Counting;

thread_local!(static COUNT: Cell<usize> = const { Cell::new(0) });

fn count() {
    COUNT.set(COUNT.get() + 1);
}

// SAFETY: all of it is the system's allocator; counting touches no memory that it manages.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller's promises are passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller's promises are passed on.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        // SAFETY: the caller's promises are passed on.
        unsafe { System.realloc(pointer, layout, size) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller's promises are passed on.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The number of allocations when `work` is repeated. It runs on one thread, which counts by itself.
fn allocations(work: impl FnMut() + Send) -> usize {
    let mut work = work;
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    pool.install(|| {
        // In the first run, kernels allocate the memory that they keep.
        work();
        let before = COUNT.get();
        work();
        COUNT.get() - before
    })
}

#[test]
fn the_counter_counts() {
    assert_eq!(allocations(|| drop(std::hint::black_box(vec![1_u8; 100]))), 1);
}

#[test]
fn a_training_step_allocates_nothing() {
    for (config, sets) in [training::odd(), training::odd_unet()] {
        let mut session = block_on(training::session(&Engine::cpu(), &config, &sets));
        let step = || assert_eq!(session.step(7).unwrap(), 7);
        assert_eq!(allocations(step), 0, "{:?}", config.architecture);
    }
}

/// D_M of `n` images of size `dim` for `rows` noisy ones; returns the routine and the buffer of σ.
fn denoising([n, dim, rows]: [usize; 3]) -> (Program, Routine, Buffer) {
    let empirical = Empirical::new(TrainingSets::single(random(1, n * dim), dim).unwrap());
    let mut p = Engine::cpu().program(1).unwrap();
    let [x, out] = ["x", "out"].map(|name| p.buffer(name, rows * dim).unwrap());
    let sigma = p.shared("σ", 1).unwrap();
    let placed = empirical.place(&mut p, rows).unwrap();
    let record = |p: &mut _| placed.record(p, x.into(), Sigma::shared(sigma), out.into());
    let routine = p.routine("denoise", record).unwrap();
    (p, routine, sigma)
}

#[test]
fn denoising_allocates_nothing() {
    let (p, routine, sigma) = denoising([700, 20, 9]);
    let mut loaded = block_on(Engine::cpu().load(p)).unwrap();
    loaded.upload(sigma, &[0.5_f32]).unwrap();
    assert_eq!(allocations(|| loaded.run(routine, 3).unwrap()), 0);
}

/// Apart from the images and their norms, no buffer grows with the number of images.
#[test]
fn the_memory_of_the_empirical_denoiser_does_not_grow() {
    let (dim, rows) = (8, 5);
    let sizes = |n: usize| {
        let (p, ..) = denoising([n, dim, rows]);
        let buffers = p.buffers().iter().map(|info| (info.name.clone(), info.buffer.len()));
        let (data, rest): (Vec<_>, Vec<_>) =
            buffers.partition(|(name, _)| ["training images", "‖y‖²"].contains(&&name[..]));
        assert_eq!(data.iter().map(|(_, len)| len).sum::<usize>(), n * (dim + 1));
        rest
    };
    assert_eq!(sizes(600), sizes(50_000));
}
