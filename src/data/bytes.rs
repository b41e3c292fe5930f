//! Reading a header: bounds-checked, with one error for a file that ends early.

use crate::error::{Error, Result};

/// The unread rest of a file.
#[derive(Clone, Copy)]
pub(super) struct Bytes<'a>(pub(super) &'a [u8]);

impl<'a> Bytes<'a> {
    /// Takes the next `n` bytes.
    pub(super) fn take(&mut self, n: usize) -> Result<&'a [u8]> {
        let (head, tail) =
            self.0.split_at_checked(n).ok_or_else(|| ends_early(n as u64, self.0.len()))?;
        self.0 = tail;
        Ok(head)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N)?);
        Ok(array)
    }

    pub(super) fn u16_le(&mut self) -> Result<u16> {
        self.array().map(u16::from_le_bytes)
    }

    pub(super) fn u32_le(&mut self) -> Result<u32> {
        self.array().map(u32::from_le_bytes)
    }

    pub(super) fn u32_be(&mut self) -> Result<u32> {
        self.array().map(u32::from_be_bytes)
    }

    /// Takes the rest, which must have as many bytes as the product of `axes`, and at least one.
    pub(super) fn rest(self, axes: &[usize]) -> Result<&'a [u8]> {
        let need = axes.iter().fold(1_u64, |product, &n| product.saturating_mul(n as u64));
        let have = self.0.len();
        if need == 0 {
            return Err(Error::bad_input("The file holds no images", "Choose another one"));
        }
        match need.cmp(&(have as u64)) {
            std::cmp::Ordering::Greater => Err(ends_early(need, have)),
            std::cmp::Ordering::Equal => Ok(self.0),
            std::cmp::Ordering::Less => Err(Error::bad_input(
                format!("The file is {} bytes longer than its header says", have as u64 - need),
                "Check that it is the file you meant",
            )),
        }
    }
}

fn ends_early(need: u64, have: usize) -> Error {
    Error::bad_input(
        format!("The file ends early: {have} of the {need} remaining bytes are there"),
        "Download or export it again",
    )
}

/// An error for a file whose content does not match its name or its place in an archive.
pub(super) fn wrong_magic(expected: &str) -> Error {
    Error::bad_input(
        format!("The file does not look like {expected}"),
        "Choose an IDX, CIFAR-10, .npy, .npz or zip file, or pictures",
    )
}
