//! Runs over host memory that fail closed.

use ringforge::{HostArg, Program, Result};

use crate::outcome::{Outcome, Reason};

/// Runs a program over host memory. Its arguments are the inputs, the outputs, each with the bytes of an item, and the
/// [status](Reason::status) of each item, unless no item can have a fault. Outputs of items with faults become zero, and
/// after an error all.
///
/// # Errors
/// As [`Program::run_host`].
pub fn run_host<const N: usize>(
    program: &Program,
    batch: usize,
    inputs: &[&[u8]],
    mut outputs: [(&mut [u8], usize); N],
) -> Result<Outcome> {
    let mut args: Vec<HostArg<'_>> = inputs.iter().map(|bytes| HostArg::from(*bytes)).collect();
    args.extend(outputs.iter_mut().map(|(bytes, _)| HostArg::from(&mut **bytes)));
    let has_statuses = program.plan().args().len() > args.len();
    let mut statuses = vec![Reason::NOT_REACHED; if has_statuses { batch } else { 0 }];
    if has_statuses {
        args.push(statuses.as_mut_slice().into());
    }
    let ran = program.run_host(batch, &mut args);
    let outcome = ran.map(|()| Outcome::new(Reason::faults(&statuses)));
    for (bytes, size) in outputs {
        match &outcome {
            Ok(outcome) => outcome.clear(bytes, size),
            Err(_) => bytes.fill(0),
        }
    }
    outcome
}

#[cfg(test)]
mod tests {
    use ringforge::kernels::Draw;
    use ringforge::{Device, Plan, Slot};

    use super::*;

    #[test]
    fn a_run_that_fails_leaves_nothing() {
        let steps = vec![Draw::new(32, 0).unwrap().step(Slot::Arg(0), Slot::Arg(1))];
        let program = Device::cpu().compile(&Plan::new("draw", steps).unwrap()).unwrap();
        let mut drawn = [1; 64];
        let outcome = run_host(&program, 2, &[&[2; 32]], [(&mut drawn, 32)]);
        assert!(outcome.unwrap().all().is_ok() && drawn != [1; 64]);
        assert!(run_host(&program, 1, &[&[2; 32]], [(&mut drawn, 32)]).is_err());
        assert_eq!(drawn, [0; 64]);
    }
}
