//! Compresses one file. The caller's thread may wait for disks.

use super::{folder, Key, LargeVariant, Variant};
use crate::content::resource::{Identity, Resource};
use crate::filters::Encoder;
use mehari_config::{Coding, VariantStore};
use std::cell::Cell;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;

/// The size of the largest variant that is kept as bytes. A larger variant is a memory file.
const SMALL: u64 = 64 * 1024;
const PIECE: usize = 64 * 1024;

/// The input of a compression.
pub struct Making {
    pub key: Key,
    pub plain: PathBuf,
    pub settings: VariantStore,
}

/// The result of a compression.
pub struct MadeVariant {
    bytes: Vec<u8>,
    file: Option<LargeVariant>,
    length: u64,
}

impl Making {
    /// Compresses the file. `None`: the compressed file is not smaller.
    pub fn make(self) -> io::Result<Option<MadeVariant>> {
        if let Some(file) = self
            .settings
            .folder
            .as_deref()
            .and_then(|folder| folder::open(folder, &self.key.file_name()))
        {
            return MadeVariant::of(file).map(Some);
        }
        // NONBLOCK: a FIFO in the file's place must not block the thread.
        let file = File::options()
            .read(true)
            .custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY)
            .open(&self.plain)?;
        let size = self.key.identity.size();
        let is_it =
            rustix::fs::fstat(&file).is_ok_and(|stat| Identity::of(&stat) == self.key.identity);
        if !is_it {
            return Err(io::ErrorKind::NotFound.into());
        }
        let compressed = compress(file.take(size), size, self.key.coding, self.key.level)?;
        if compressed.len() as u64 >= size {
            return Ok(None);
        }
        if let Some(folder) = &self.settings.folder {
            folder::put(
                folder,
                &self.key.file_name(),
                &compressed,
                self.settings.disk,
            );
        }
        MadeVariant::in_memory(compressed).map(Some)
    }
}

fn compress(mut plain: impl Read, size: u64, coding: Coding, level: u32) -> io::Result<Vec<u8>> {
    let mut encoder = Encoder::new(coding, level, Some(size))?;
    let mut piece = vec![0; PIECE];
    let mut left = size;
    while left > 0 {
        let count = plain.read(&mut piece)?;
        if count == 0 {
            // The file changed while it was read, so the result is discarded.
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        encoder.write(&piece[..count])?;
        left -= count as u64;
    }
    encoder.finish()
}

impl MadeVariant {
    fn of(mut file: File) -> io::Result<MadeVariant> {
        let length = file.metadata()?.len();
        if length > SMALL {
            return Ok(MadeVariant {
                bytes: Vec::new(),
                file: Some(LargeVariant::OnDisk(Arc::new(file))),
                length,
            });
        }
        let mut bytes = Vec::with_capacity(length as usize);
        file.read_to_end(&mut bytes)?;
        MadeVariant::in_memory(bytes)
    }

    fn in_memory(bytes: Vec<u8>) -> io::Result<MadeVariant> {
        let length = bytes.len() as u64;
        if length <= SMALL {
            return Ok(MadeVariant {
                bytes,
                file: None,
                length,
            });
        }
        let flags = rustix::fs::MemfdFlags::CLOEXEC;
        let mut file = File::from(rustix::fs::memfd_create("mehari compressed file", flags)?);
        file.write_all(&bytes)?;
        Ok(MadeVariant {
            bytes: Vec::new(),
            file: Some(LargeVariant::InMemory(Arc::new(file))),
            length,
        })
    }

    pub fn variant(self, resource: &Resource, coding: Coding) -> Option<Variant> {
        let body = self.file.is_none().then(|| self.bytes.into());
        Some(Variant {
            resource: Rc::new(resource.coded(coding, body)),
            file: self.file,
            length: self.length,
            used: Cell::default(),
        })
    }
}
