//! Containers: gzip and zip, with a limit on what they unpack to.

use std::io::{ErrorKind, Read};

use super::{
    bytes::Bytes,
    import::{MAX_BYTES, is_picture},
};
use crate::error::{Error, Result};
use flate2::{Crc, read::MultiGzDecoder};
use miniz_oxide::inflate::{TINFLStatus, decompress_to_vec_with_limit};

/// Unpacks a gzip file.
pub(super) fn gunzip(bytes: &[u8]) -> Result<Vec<u8>> {
    let mut data = Vec::new();
    let limit = MAX_BYTES as u64;
    let unpacked = MultiGzDecoder::new(bytes).take(limit + 1).read_to_end(&mut data);
    match unpacked {
        Ok(_) if data.len() > MAX_BYTES => Err(too_large(data.len())),
        Ok(_) => Ok(data),
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => Err(ends_early()),
        Err(_) => Err(damaged()),
    }
}

/// A file in a zip archive, still packed.
#[derive(Debug, Clone, Copy)]
pub struct Entry<'a> {
    name: &'a [u8],
    flags: u16,
    method: u16,
    checksum: u32,
    size: u32,
    packed: &'a [u8],
}

impl Entry<'_> {
    /// Its path in the archive.
    #[must_use]
    pub fn name(&self) -> String {
        String::from_utf8_lossy(self.name).into_owned()
    }

    /// Bytes it claims to unpack to.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.size.into()
    }

    /// Whether its name is that of a picture that browsers decode.
    #[must_use]
    pub fn is_picture(&self) -> bool {
        is_picture(&self.name())
    }

    /// Unpacks it.
    pub fn read(&self) -> Result<Vec<u8>> {
        const ENCRYPTED: u16 = 1;
        if self.flags & ENCRYPTED != 0 {
            return Err(Error::bad_input("The archive is encrypted", "Unpack it first"));
        }
        let data = match self.method {
            0 => self.packed.to_vec(),
            8 => inflate(self.packed)?,
            method => {
                return Err(Error::bad_input(
                    format!("The archive uses compression method {method}, which is not supported"),
                    "Pack it again with plain zip compression",
                ));
            }
        };
        check(&data, self.size, self.checksum)?;
        Ok(data)
    }
}

/// The files in a zip archive, in its order. Folders and hidden files are left out.
pub fn zip_entries(bytes: &[u8]) -> Result<Vec<Entry<'_>>> {
    let too_large = || {
        let hint = "Pack fewer files";
        Error::limit("Archive size in bytes", u64::from(u32::MAX), MAX_BYTES as u64, hint)
    };
    let mut end = end_of_directory(bytes)?;
    end.take(10)?;
    let count = end.u16_le()?;
    let _directory_bytes = end.u32_le()?;
    let directory = end.u32_le()?;
    if directory == u32::MAX || count == u16::MAX {
        return Err(too_large());
    }
    let mut directory = from(bytes, directory)?;
    let mut entries = Vec::new();
    for _ in 0..count {
        if directory.take(4)? != b"PK\x01\x02" {
            return Err(damaged());
        }
        directory.take(4)?;
        let (flags, method) = (directory.u16_le()?, directory.u16_le()?);
        directory.take(4)?;
        let checksum = directory.u32_le()?;
        let (packed_size, size) = (directory.u32_le()?, directory.u32_le()?);
        let [name, extra, comment] =
            [directory.u16_le()?, directory.u16_le()?, directory.u16_le()?].map(usize::from);
        directory.take(8)?;
        let offset = directory.u32_le()?;
        let name = directory.take(name)?;
        directory.take(extra + comment)?;
        if [packed_size, size, offset].contains(&u32::MAX) {
            return Err(too_large());
        }
        // The sizes in front of the data may be missing, so only the lengths of its fields count.
        let mut local = from(bytes, offset)?;
        if local.take(4)? != b"PK\x03\x04" {
            return Err(damaged());
        }
        local.take(22)?;
        let (local_name, local_extra) = (local.u16_le()?, local.u16_le()?);
        local.take(usize::from(local_name) + usize::from(local_extra))?;
        let packed = local.take(packed_size as usize)?;
        let file = name.rsplit(|&b| b == b'/').next().unwrap_or(name);
        if !file.is_empty() && !file.starts_with(b".") {
            entries.push(Entry { name, flags, method, checksum, size, packed });
        }
    }
    Ok(entries)
}

/// Finds the record at the end of the archive; a comment of any length may follow it.
fn end_of_directory(bytes: &[u8]) -> Result<Bytes<'_>> {
    const RECORD: usize = 22;
    let tail = &bytes[bytes.len().saturating_sub(RECORD + usize::from(u16::MAX))..];
    tail.windows(RECORD)
        .rposition(|window| window.starts_with(b"PK\x05\x06"))
        .map(|at| Bytes(&tail[at..]))
        .ok_or_else(|| {
            Error::bad_input(
                "The archive ends early: its directory is missing",
                "Download it again",
            )
        })
}

fn from(bytes: &[u8], offset: u32) -> Result<Bytes<'_>> {
    let mut file = Bytes(bytes);
    file.take(offset as usize)?;
    Ok(file)
}

fn inflate(packed: &[u8]) -> Result<Vec<u8>> {
    decompress_to_vec_with_limit(packed, MAX_BYTES).map_err(|error| match error.status {
        TINFLStatus::HasMoreOutput => too_large(error.output.len() + 1),
        TINFLStatus::FailedCannotMakeProgress | TINFLStatus::NeedsMoreInput => ends_early(),
        _ => damaged(),
    })
}

fn too_large(need: usize) -> Error {
    Error::limit("Unpacked bytes", need as u64, MAX_BYTES as u64, "Choose a smaller file")
}

fn ends_early() -> Error {
    Error::bad_input("The compressed data ends early", "Download or pack it again")
}

fn check(data: &[u8], size: u32, checksum: u32) -> Result<()> {
    let mut crc = Crc::new();
    crc.update(data);
    if data.len() as u64 != u64::from(size) || crc.sum() != checksum {
        return Err(damaged());
    }
    Ok(())
}

fn damaged() -> Error {
    Error::bad_input("The compressed data is damaged", "Download or pack it again")
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::{Compression, GzBuilder};

    fn packed(header: GzBuilder, bytes: &[u8]) -> Vec<u8> {
        let mut file = Vec::new();
        header.read(bytes, Compression::best()).read_to_end(&mut file).unwrap();
        file
    }

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        packed(GzBuilder::new(), bytes)
    }

    #[test]
    fn gzip_round_trip() {
        for data in [&b""[..], b"a", &[7; 100_000]] {
            assert_eq!(gunzip(&gzip(data)).unwrap(), data);
        }
    }

    #[test]
    fn gzip_with_a_name_and_in_parts() {
        let header = GzBuilder::new().extra(*b"abc").filename("name").comment("comment");
        let file = [packed(header, b"fa"), gzip(b"ces")].concat();
        assert_eq!(gunzip(&file).unwrap(), b"faces");
    }

    #[test]
    fn a_changed_byte_is_noticed() {
        let mut file = gzip(b"some text that is long enough to be packed, packed, packed");
        let last = file.len() - 1;
        file[last] ^= 1;
        assert!(gunzip(&file).unwrap_err().message.contains("damaged"));
        file[last] ^= 1;
        file[last - 5] ^= 1;
        assert!(gunzip(&file).unwrap_err().message.contains("damaged"));
        file.truncate(30);
        assert!(gunzip(&file).unwrap_err().message.contains("ends early"));
    }
}
