//! Runs programs on host memory. If a run fails, its outputs are zeroed, so that no partial result is used.

use ringforge::{Program, Result};

use crate::status::{BatchStatus, NOT_REACHED, SchemeError};

/// Runs a program on `batch` items in host memory and returns their status. Each input is an argument name of the
/// program's plan and a slice; each output also has its size in bytes per item.
///
/// The program writes the items' statuses to its output `statuses`, if it has one. The outputs of an item are zeroed if
/// its [status](crate::status()) is an error. If the run fails, all outputs are zeroed.
///
/// # Errors
/// The errors of [`HostCall::run`](ringforge::run::HostCall::run).
pub fn run_host<E: SchemeError, const N: usize>(
    program: &Program,
    batch: usize,
    inputs: &[(&str, &[u8])],
    mut outputs: [(&str, &mut [u8], usize); N],
) -> Result<BatchStatus<E>> {
    let has_statuses = program.plan().arg(STATUSES).is_some();
    let mut statuses = vec![NOT_REACHED; if has_statuses { batch } else { 0 }];
    let call = inputs.iter().fold(program.on_host(batch), |call, (name, bytes)| call.input(name, bytes));
    let call = outputs.iter_mut().fold(call, |call, (name, bytes, _)| call.output(name, bytes));
    let ran = if has_statuses { call.output(STATUSES, &mut statuses) } else { call }.run();
    let status = ran.map(|()| BatchStatus::of(&statuses));
    for (_, bytes, size) in outputs {
        match &status {
            Ok(status) => status.clear(bytes, size),
            Err(_) => bytes.fill(0),
        }
    }
    status
}

/// Name of the plan argument that holds the status words of the items.
pub(crate) const STATUSES: &str = "statuses";

#[cfg(test)]
mod tests {
    use ringforge::kernels::RandomBlock;
    use ringforge::{Device, Planner};

    use super::*;
    use crate::status::tests::OwnError;

    #[test]
    fn failed_runs_zero_their_outputs() {
        let p = Planner::default().pipeline("draw");
        let [bytes] = p.step(RandomBlock::new(32, 0).unwrap(), &[p.input("random_key")]);
        p.output("bytes", bytes);
        let program = Device::cpu().compile(&p.build().unwrap()).unwrap();
        let mut drawn = [1; 64];
        let status = run_host::<OwnError, _>(&program, 2, &[("random_key", &[2; 32])], [("bytes", &mut drawn, 32)]);
        assert!(status.unwrap().into_result().is_ok() && drawn != [1; 64]);
        assert!(
            run_host::<OwnError, _>(&program, 1, &[("random_key", &[2; 32])], [("bytes", &mut drawn, 32)]).is_err()
        );
        assert_eq!(drawn, [0; 64]);
    }
}
