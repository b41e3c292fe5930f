//! Containers: gzip and zip, with a limit on what they unpack to.

use std::io::{ErrorKind, Read};

use super::{
    bytes::Bytes,
    import::{MAX_BYTES, is_picture},
};
use crate::error::{Error, Result};
use flate2::bufread::DeflateDecoder;
use miniz_oxide::inflate::{TINFLStatus, decompress_to_vec_with_limit};

/// Unpacks a gzip file, which may have several parts.
///
/// Its frame is read here: flate2's reader of it brings a table of checksums along that would be a tenth
/// of the page's library.
pub(super) fn gunzip(bytes: &[u8]) -> Result<Vec<u8>> {
    let (mut file, mut data) = (Bytes(bytes), Vec::new());
    loop {
        skip_header(&mut file)?;
        let begin = data.len();
        let mut unpacked = DeflateDecoder::new(file.0);
        let limit = (MAX_BYTES - begin) as u64;
        match unpacked.by_ref().take(limit + 1).read_to_end(&mut data) {
            Ok(_) if data.len() > MAX_BYTES => return Err(too_large(data.len())),
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Err(ends_early()),
            Err(_) => return Err(damaged()),
        }
        file.take(unpacked.total_in() as usize)?;
        let end = file.take(8).map_err(|_| ends_early())?;
        let (checksum, size) = (Bytes(end).u32_le()?, Bytes(&end[4..]).u32_le()?);
        check(&data[begin..], size, checksum)?;
        if file.0.is_empty() {
            return Ok(data);
        }
    }
}

/// Passes over what stands before the data of a part of a gzip file.
fn skip_header(file: &mut Bytes<'_>) -> Result<()> {
    const CHECKSUM: u8 = 2;
    const EXTRA: u8 = 4;
    const NAME: u8 = 8;
    const COMMENT: u8 = 16;
    let &[0x1f, 0x8b, 8, flags, ..] = file.take(10).map_err(|_| ends_early())? else {
        return Err(damaged());
    };
    if flags & EXTRA != 0 {
        let extra = file.u16_le()?;
        file.take(extra.into())?;
    }
    for text in [NAME, COMMENT] {
        if flags & text != 0 {
            let end = file.0.iter().position(|&byte| byte == 0).ok_or_else(ends_early)?;
            file.take(end + 1)?;
        }
    }
    if flags & CHECKSUM != 0 {
        file.take(2)?;
    }
    Ok(())
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
    /// Path of the file in the archive.
    #[must_use]
    pub fn name(&self) -> String {
        String::from_utf8_lossy(self.name).into_owned()
    }

    /// Size in bytes that the file claims to unpack to.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.size.into()
    }

    /// Whether the file has the name of a picture that browsers decode.
    #[must_use]
    pub fn is_picture(&self) -> bool {
        is_picture(&self.name())
    }

    /// Unpacks the file.
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

/// Lists the files of a zip archive in its order, without folders and hidden files.
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
        // The sizes in front of the data may be missing, so only the lengths of the fields are used.
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

/// Finds the record at the end of the archive, which a comment of any length may follow.
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
    if data.len() as u64 != u64::from(size) || crc32(data) != checksum {
        return Err(damaged());
    }
    Ok(())
}

/// The checksum of gzip and zip, four bits at a time.
fn crc32(data: &[u8]) -> u32 {
    const TABLE: [u32; 16] = {
        let mut table = [0; 16];
        let mut i = 0;
        while i < 16 {
            let (mut value, mut bit) = (i as u32, 0);
            while bit < 4 {
                value = (value >> 1) ^ if value & 1 == 1 { 0xedb8_8320 } else { 0 };
                bit += 1;
            }
            table[i] = value;
            i += 1;
        }
        table
    };
    let step = |crc: u32| (crc >> 4) ^ TABLE[(crc & 15) as usize];
    !data.iter().fold(!0, |crc, &byte| step(step(crc ^ u32::from(byte))))
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
