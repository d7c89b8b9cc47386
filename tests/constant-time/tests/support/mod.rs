//! Disassembles a program and finds suspicious instructions in its functions and their callees: divisions, indirect
//! calls, and moves out of vectors.

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

/// Findings by address, each with the name of the function that contains it.
pub(crate) type Findings<'a> = BTreeMap<u64, (Finding, &'a str)>;
/// Source locations (file and line) of instructions, by address.
pub(crate) type Sources = BTreeMap<u64, Vec<(String, usize)>>;

/// A suspicious instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Finding {
    /// A division, square root or reciprocal, whose time may depend on its operands.
    Division,
    /// A call or jump through a pointer whose target is not known.
    Pointer,
    /// An instruction that moves vector contents to flags, to a general register, or to an address.
    Leaving,
}

/// A function of the program, with the properties that are inspected.
#[derive(Default)]
struct Function {
    name: String,
    /// Address of the function's last instruction.
    last: u64,
    /// Addresses that the function calls, jumps to, or loads.
    leads_to: BTreeSet<u64>,
    found: Vec<(u64, Finding)>,
    /// Registers and stack slots to which the address of a known function has been moved.
    holding: BTreeSet<String>,
    /// Mnemonic of the previous instruction.
    before: String,
}

impl Function {
    /// Processes the function's next instruction, in the output format of `objdump`.
    fn take(&mut self, at: u64, instruction: &str, table: &BTreeMap<u64, u64>, foreign: &BTreeSet<u64>) {
        let (code, note) = instruction.split_once('#').unwrap_or((instruction, ""));
        let mut words = code.split_whitespace();
        // skips prefixes, which are separate words
        let name = words.find(|word| !["addr32", "bnd", "data16", "notrack", "rep", "repz"].contains(word));
        let name = name.unwrap_or_default();
        let operands = words.collect::<Vec<_>>().join(" ");
        let is_jump = name.starts_with("call") || name.starts_with('j');
        let target = if let Some(place) = address(note) {
            let known = table.get(&place).copied();
            if is_jump && known.is_none() && !foreign.contains(&place) {
                self.found.push((at, Finding::Pointer));
            }
            if known.is_some() || foreign.contains(&place) || name == "lea" {
                self.holding.extend(operands.rsplit(',').next().map(str::to_owned));
            }
            Some(known.unwrap_or(place))
        } else if let Some(pointer) = operands.strip_prefix('*').filter(|_| is_jump) {
            // A jump through a table of offsets, generated for a `match` for example, stays in the function.
            let is_switch = name == "jmp" && self.before == "add";
            if !is_switch && !self.holding.contains(pointer) {
                self.found.push((at, Finding::Pointer));
            }
            None
        } else {
            address(&operands).filter(|_| is_jump)
        };
        let moved = operands.split_once(',').filter(|(from, _)| name == "mov" && self.holding.contains(*from));
        self.holding.extend(moved.map(|(_, to)| to.to_owned()));
        self.leads_to.extend(target);
        let divides = ["div", "idiv", "vdiv", "fdiv", "fidiv", "fprem", "sqrt", "vsqrt", "fsqrt", "rcp", "vrcp"];
        if divides.iter().any(|prefix| name.starts_with(prefix)) {
            self.found.push((at, Finding::Division));
        }
        if leaves_vectors(name, &operands) {
            self.found.push((at, Finding::Leaving));
        }
        (self.last, self.before) = (at, name.to_owned());
    }
}

/// Returns true if an instruction moves the contents of a vector or of a lane mask to flags, to a general register, or
/// to an address.
fn leaves_vectors(name: &str, operands: &str) -> bool {
    let always = [
        "kortest",
        "ktest",
        "vptest",
        "ptest",
        "vtestp",
        "vcomis",
        "vucomis",
        "comis",
        "ucomis",
        "vmovmsk",
        "movmsk",
        "vpmovmskb",
        "pmovmskb",
        "vpextr",
        "pextr",
        "vpgather",
        "vgather",
        "vpscatter",
        "vscatter",
    ];
    let moves = ["kmov", "vmovd", "vmovq", "movd", "movq"].iter().any(|prefix| name.starts_with(prefix));
    let (from, to) = operands.rsplit_once(',').unwrap_or_default();
    let is_vector = |operand: &str| operand.starts_with("%xmm") || operand.starts_with("%k");
    let is_general = to.starts_with('%') && !is_vector(to) && !to.starts_with("%mm");
    always.iter().any(|prefix| name.starts_with(prefix)) || moves && is_vector(from) && is_general
}

/// A linked program with symbols.
pub(crate) struct Program {
    /// Functions by address.
    functions: BTreeMap<u64, Function>,
    /// Addresses of functions of this program, by the address of the dynamic-relocation slot that holds them. Calls of
    /// libraries go through such slots.
    table: BTreeMap<u64, u64>,
    /// Dynamic-relocation slots for functions of system libraries.
    foreign: BTreeSet<u64>,
}

/// Runs a command with `input` as its standard input and returns its standard output.
pub(crate) fn run(command: &mut Command, input: &str) -> Result<String, Box<dyn Error>> {
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let mut stdin = child.stdin.take().ok_or("no input")?;
    let input = input.to_owned();
    let writer = std::thread::spawn(move || stdin.write_all(input.as_bytes()));
    let output = child.wait_with_output()?;
    writer.join().map_err(|_| "the input's thread ended")??;
    if !output.status.success() {
        return Err(format!("{command:?}: {}", output.status).into());
    }
    Ok(String::from_utf8(output.stdout)?)
}

/// Returns the hexadecimal number at the start of a text, or `None` if there is none.
fn address(text: &str) -> Option<u64> {
    let text = text.trim_start().trim_start_matches("0x");
    let digits = text.split(|c: char| !c.is_ascii_hexdigit()).next().unwrap_or_default();
    u64::from_str_radix(digits, 16).ok()
}

impl Program {
    /// Disassembles the program at `path`.
    pub(crate) fn read(path: &Path) -> Result<Self, Box<dyn Error>> {
        let code = run(Command::new("objdump").args(["-d", "-C", "--no-show-raw-insn"]).arg(path), "")?;
        let relocations = run(Command::new("objdump").arg("-R").arg(path), "")?;
        let (mut table, mut foreign) = (BTreeMap::new(), BTreeSet::new());
        for line in relocations.lines() {
            let mut words = line.split_whitespace();
            let (Some(place), Some(_), Some(value)) = (words.next().and_then(address), words.next(), words.next())
            else {
                continue;
            };
            match value.strip_prefix("*ABS*+").and_then(address) {
                Some(target) => drop(table.insert(place, target)),
                None => drop(foreign.insert(place)),
            }
        }
        let mut program = Self { functions: BTreeMap::new(), table, foreign };
        let mut function = None;
        for line in code.lines() {
            if let Some(name) = line.strip_suffix(">:").and_then(|line| line.split_once(" <")) {
                let entry = program.functions.entry(address(name.0).ok_or("no address")?).or_default();
                entry.name = name.1.to_owned();
                function = Some(entry);
            } else if let (Some((at, instruction)), Some(function)) = (line.split_once(":\t"), &mut function) {
                let at = address(at).ok_or("no address")?;
                function.take(at, instruction, &program.table, &program.foreign);
            }
        }
        Ok(program)
    }

    /// Returns all findings in the functions of this name and in everything that they call or jump to. Does not follow
    /// functions of system libraries, or those whose names begin with one of `ends`.
    ///
    /// # Errors
    /// Returns an error if there is no function of this name.
    pub(crate) fn find(&self, name: &str, ends: &[&str]) -> Result<Findings<'_>, Box<dyn Error>> {
        let named = self.functions.iter().filter(|(_, function)| function.name == name);
        let mut open: Vec<u64> = named.map(|(start, _)| *start).collect();
        if open.is_empty() {
            return Err(format!("there is no function {name}").into());
        }
        let (mut seen, mut found) = (BTreeSet::new(), BTreeMap::new());
        while let Some(at) = open.pop() {
            // a jump into the middle of a function counts as a call of it; an address outside all functions is data
            let Some((start, function)) = self.functions.range(..=at).next_back() else { continue };
            if at > function.last
                || !seen.insert(*start)
                || ends.iter().any(|end| function.name.starts_with(end) || function.name.contains("@plt"))
            {
                continue;
            }
            found.extend(function.found.iter().map(|(at, finding)| (*at, (*finding, &*function.name))));
            open.extend(&function.leads_to);
        }
        Ok(found)
    }
}

/// Returns the source locations (file and line) of these instructions. Inlined functions give several locations,
/// innermost first.
pub(crate) fn sources(path: &Path, addresses: &[u64]) -> Result<Sources, Box<dyn Error>> {
    let input: String = addresses.iter().map(|at| format!("{at:x}\n")).collect();
    let lines = run(Command::new("addr2line").args(["-a", "-i", "-e"]).arg(path), &input)?;
    let mut sources = Sources::new();
    let mut at = 0;
    for line in lines.lines() {
        if line.starts_with("0x") {
            at = address(line).ok_or("no address")?;
        } else if let Some((file, number)) = line.rsplit_once(':') {
            let digits = number.split_whitespace().next().unwrap_or_default();
            sources.entry(at).or_default().push((file.to_owned(), digits.parse().unwrap_or(0)));
        }
    }
    Ok(sources)
}
