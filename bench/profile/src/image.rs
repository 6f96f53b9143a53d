//! Finds the program and libraries that a process has mapped, and reads their symbols.

use object::{Object, ObjectSection, ObjectSegment, ObjectSymbol};
use std::fs;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

/// A mapped file of executable code.
pub struct MappedImage {
    /// The path that the process sees.
    pub name: String,
    /// The path by which the profiler reads the file.
    file: PathBuf,
    start: u64,
}

impl MappedImage {
    /// Returns the files whose beginning the process has mapped: its program and its libraries.
    pub fn of_process(pid: u32) -> io::Result<Vec<MappedImage>> {
        let maps = fs::read_to_string(format!("/proc/{pid}/maps"))?;
        let program = fs::read_link(format!("/proc/{pid}/exe")).unwrap_or_default();
        let program = program.to_string_lossy();
        Ok(maps
            .lines()
            .filter_map(|line| MappedImage::of_line(pid, line, &program))
            .collect())
    }

    fn of_line(pid: u32, line: &str, program: &str) -> Option<MappedImage> {
        let mut words = line.split_ascii_whitespace();
        let (range, _, offset) = (words.next()?, words.next()?, words.next()?);
        let name = line.get(line.find('/')?..)?;
        let start = u64::from_str_radix(range.split('-').next()?, 16).ok()?;
        // Through this path the program is readable even after its file was replaced.
        let file = if name == program {
            format!("/proc/{pid}/exe")
        } else {
            format!("/proc/{pid}/root{name}")
        };
        (u64::from_str_radix(offset, 16) == Ok(0)).then(|| MappedImage {
            name: name.to_owned(),
            file: file.into(),
            start,
        })
    }

    /// Reads the file. The result is empty if the file is not in ELF format, like a locale's data.
    pub fn open(&self) -> io::Result<ObjectFile> {
        let mut file = fs::File::open(&self.file)?;
        let mut bytes = vec![0; object::elf::ELFMAG.len()];
        if file.read_exact(&mut bytes).is_err() || bytes != object::elf::ELFMAG {
            return Ok(ObjectFile(Vec::new()));
        }
        file.read_to_end(&mut bytes)?;
        Ok(ObjectFile(bytes))
    }

    /// Returns the file's device and inode number, which identify it.
    pub fn file_number(&self) -> Option<(u64, u64)> {
        let meta = fs::metadata(&self.file).ok()?;
        Some((meta.dev(), meta.ino()))
    }

    /// Returns the address of a symbol in the process.
    pub fn address(&self, file: &ObjectFile, symbol: &str) -> Option<u64> {
        let parsed = object::File::parse(&*file.0).ok()?;
        let first = parsed.segments().map(|segment| segment.address()).min()?;
        // A program that is not position-independent lies at the addresses of its file.
        let base = self.start.checked_sub(first & !0xfff)?;
        let address = find(&parsed, symbol)?.0.checked_add(base);
        drop(parsed);
        address
    }
}

/// Returns the line of the first mapping. It contains the program's file and address.
pub fn first_mapping(pid: u32) -> Option<String> {
    use std::io::BufRead;
    let maps = fs::File::open(format!("/proc/{pid}/maps")).ok()?;
    let line = io::BufReader::with_capacity(512, maps)
        .lines()
        .next()?
        .ok()?;
    (!line.is_empty()).then_some(line)
}

/// The bytes of an ELF file.
pub struct ObjectFile(pub Vec<u8>);

impl ObjectFile {
    /// Returns the bytes in the file that a symbol names.
    pub fn contents(&self, symbol: &str) -> Option<Vec<u8>> {
        let parsed = object::File::parse(&*self.0).ok()?;
        let (address, size, section) = find(&parsed, symbol)?;
        let section = parsed.section_by_index(section?).ok()?;
        let start = usize::try_from(address.checked_sub(section.address())?).ok()?;
        let end = start.checked_add(usize::try_from(size).ok()?)?;
        Some(section.data().ok()?.get(start..end)?.to_vec())
    }
}

type FoundSymbol = (u64, u64, Option<object::SectionIndex>);

fn find(file: &object::File<'_>, name: &str) -> Option<FoundSymbol> {
    let found = file
        .dynamic_symbols()
        .chain(file.symbols())
        .find(|symbol| symbol.name() == Ok(name) && symbol.is_definition())?;
    Some((found.address(), found.size(), found.section_index()))
}
