//! Tuning files: TOML that people can read and change.

use core::fmt;

use serde::{Deserialize, Serialize};

use super::{Choice, Shape, Tuning};
use crate::arithmetic::Arithmetic;
use ringforge_math::error::{Error, Result};
use ringforge_runtime::limits::Limits;

/// Stands for the file name in errors about text that was not read from a file.
const SOURCE: &str = "tuning";

const HEAD: &str =
    "# Choices of Ringforge's planner that change speed and nothing else, as `ringforge tune` writes them.\n";

/// The contents of a tuning file.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    /// The name of the device that was measured.
    device: String,
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    unfused: bool,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    choice: Vec<Entry>,
}

/// A choice, and the operation, size of moduli and degree of the jobs that it applies to.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    op: String,
    bits: u32,
    n: usize,
    arithmetic: Option<String>,
    kernels: Option<usize>,
    per_thread: Option<usize>,
    cluster: Option<usize>,
    shuffles: Option<bool>,
}

impl Entry {
    fn new((shape, choice): &(Shape, Choice)) -> Self {
        Self {
            op: shape.op.to_string(),
            bits: shape.bits,
            n: shape.n,
            arithmetic: choice.arithmetic.map(|arithmetic| arithmetic.name().into()),
            kernels: choice.kernels,
            per_thread: choice.per_thread,
            cluster: choice.cluster,
            shuffles: choice.shuffles.then_some(true),
        }
    }

    fn read(self) -> Result<(Shape, Choice)> {
        let shape = Shape { op: self.op.parse().map_err(malformed)?, bits: self.bits, n: self.n };
        if !Shape::BITS.contains(&shape.bits) {
            return Err(malformed(format!("bits = {}: must be one of {:?}", shape.bits, Shape::BITS)));
        }
        let named = |name: String| {
            let found = Arithmetic::ALL.iter().copied().find(|arithmetic| arithmetic.name() == name);
            found.ok_or_else(|| malformed(format!("unknown arithmetic {name:?}")))
        };
        let Self { kernels, per_thread, cluster, .. } = self;
        if [kernels, per_thread, cluster].contains(&Some(0)) {
            return Err(malformed("kernels, per_thread and cluster must be at least 1"));
        }
        let arithmetic = self.arithmetic.map(named).transpose()?;
        Ok((shape, Choice { shuffles: self.shuffles.unwrap_or_default(), arithmetic, kernels, per_thread, cluster }))
    }
}

impl Tuning {
    /// This tuning as the contents of a file, for the device with these limits.
    #[must_use]
    pub fn to_text(&self, limits: &Limits) -> String {
        let choice = self.choices.iter().map(Entry::new).collect();
        let file = File { device: limits.name.clone(), unfused: self.unfused, choice };
        // the file has only tables of strings and numbers, which TOML can always express
        HEAD.to_owned() + &toml::to_string(&file).unwrap_or_default()
    }

    /// Parses the contents of a file, for a device with these limits.
    ///
    /// # Errors
    /// [`Error::File`] if the text is malformed; [`Error::Mismatch`] if the device name in it is not that of `limits`.
    pub fn from_text(text: &str, limits: &Limits) -> Result<Self> {
        let file: File = toml::from_str(text).map_err(malformed)?;
        if file.device != limits.name {
            return Err(Error::Mismatch {
                what: "tuned device".into(),
                expected: limits.name.clone(),
                got: file.device,
            });
        }
        let choices = file.choice.into_iter().map(Entry::read).collect::<Result<Vec<_>>>()?;
        for (i, (shape, _)) in choices.iter().enumerate() {
            if choices[..i].iter().any(|(before, _)| before == shape) {
                let Shape { op, bits, n } = shape;
                return Err(malformed(format!("duplicate choice for op = \"{op}\", bits = {bits}, n = {n}")));
            }
        }
        Ok(Self { choices, unfused: file.unfused })
    }
}

fn malformed(why: impl fmt::Display) -> Error {
    Error::file(SOURCE, why)
}
