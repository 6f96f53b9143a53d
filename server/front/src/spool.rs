//! A request body on its way to a program: memory while it is small, then a file nobody else can see.

use std::fs::File;
use std::io::{self, Seek, Write};
use std::sync::Arc;

/// Bytes of a body that stay in memory.
pub const IN_MEMORY: usize = 64 * 1024;
/// Bytes that are collected before a thread writes them.
const BATCH: usize = 256 * 1024;

#[derive(Default)]
pub struct Spool {
    memory: Vec<u8>,
    file: Option<Arc<File>>,
    written: u64,
}

impl Spool {
    /// Bytes so far.
    pub fn length(&self) -> u64 {
        self.written + self.memory.len() as u64
    }

    /// Where more bytes may be appended; call [`Spool::settle`] afterwards.
    pub fn memory(&mut self) -> &mut Vec<u8> {
        &mut self.memory
    }

    /// Moves to the file what is too much for memory. The disk is waited for by a thread.
    pub async fn settle(&mut self) -> io::Result<()> {
        let limit = if self.file.is_some() {
            BATCH
        } else {
            IN_MEMORY
        };
        match self.memory.len() > limit {
            true => self.write_out().await,
            false => Ok(()),
        }
    }

    async fn write_out(&mut self) -> io::Result<()> {
        let file = self.file.take();
        let batch = std::mem::take(&mut self.memory);
        let written = tokio::task::spawn_blocking(move || {
            let file = match file {
                Some(file) => file,
                // O_TMPFILE in TMPDIR, or created and unlinked where the file system has no such thing.
                None => Arc::new(tempfile::tempfile()?),
            };
            (&*file).write_all(&batch)?;
            io::Result::Ok((file, batch))
        });
        let (file, mut batch) = written.await.map_err(io::Error::other)??;
        self.written += batch.len() as u64;
        batch.clear();
        self.memory = batch;
        self.file = Some(file);
        Ok(())
    }

    /// The complete body.
    pub async fn finish(mut self) -> io::Result<Spooled> {
        if self.file.is_some() && !self.memory.is_empty() {
            self.write_out().await?;
        }
        match self.file {
            None => Ok(Spooled::Memory(self.memory)),
            Some(file) => {
                let mut file = Arc::try_unwrap(file).or_else(|shared| shared.try_clone())?;
                file.rewind()?;
                Ok(Spooled::File(file, self.written))
            }
        }
    }
}

pub enum Spooled {
    Memory(Vec<u8>),
    File(File, u64),
}
