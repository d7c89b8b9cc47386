//! Program cache: each program is made once, and beyond the limit the least recently used one is dropped.

use std::any::Any;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};

use ringforge_math::error::Result;
use ringforge_runtime::program::Program;

/// The cache slot of one program. The thread that makes the program locks the slot, and other threads wait for it.
type Place = Arc<Mutex<Option<Program>>>;

/// The cached programs of one device and tuning.
pub(super) struct Programs {
    most: usize,
    /// Keys of any type with their programs, most recently used first.
    kept: Mutex<Vec<(Box<dyn Any + Send + Sync>, Place)>>,
}

impl Programs {
    pub(super) fn new(most: usize) -> Self {
        Self { most: most.max(1), kept: Mutex::default() }
    }

    pub(super) fn most(&self) -> usize {
        self.most
    }

    /// Returns the program of a key. If it is not cached, this thread makes it, and other threads that ask for it wait.
    /// Failures are not cached.
    ///
    /// Rayon threads make the program themselves instead of waiting. A rayon thread that is making a program may steal
    /// work that asks for the same program, and would then wait for itself.
    pub(super) fn get<K: Any + Clone + PartialEq + Send + Sync>(
        &self,
        key: &K,
        make: impl FnOnce() -> Result<Program>,
    ) -> Result<Program> {
        let place = self.place(key);
        let mut program = match place.try_lock() {
            Ok(program) => program,
            // the thread that was making the program panicked, so the slot is empty
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) if rayon::current_thread_index().is_some() => return make(),
            Err(TryLockError::WouldBlock) => lock(&place),
        };
        if let Some(program) = &*program {
            return Ok(program.clone());
        }
        Ok(program.insert(make()?).clone())
    }

    pub(super) fn clear(&self) {
        lock(&self.kept).clear();
    }

    /// Moves the slot of a key to the front of the cache, drops the least recently used slots beyond the limit, and
    /// returns the slot.
    fn place<K: Any + Clone + PartialEq + Send + Sync>(&self, key: &K) -> Place {
        let mut kept = lock(&self.kept);
        let at = kept.iter().position(|(other, _)| other.downcast_ref::<K>() == Some(key)).unwrap_or_else(|| {
            kept.push((Box::new(key.clone()), Place::default()));
            kept.len() - 1
        });
        kept[..=at].rotate_right(1);
        kept.truncate(self.most);
        kept[0].1.clone()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use rayon::prelude::*;

    use super::*;
    use crate::job::{Job, Op};
    use crate::planner::Planner;
    use ringforge_math::error::Error;
    use ringforge_math::poly::PolyType;
    use ringforge_runtime::device::Device;

    fn job(n: usize) -> Job {
        Job::new(format!("17:x^{n}+1").parse::<PolyType>().unwrap(), Op::Mul)
    }

    fn made(job: &Job) -> Result<Program> {
        Device::cpu().compile(&Planner::default().plan(job)?)
    }

    #[test]
    fn each_program_is_made_once() {
        let (programs, count, start) = (Programs::new(9), AtomicUsize::new(0), Barrier::new(8));
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    start.wait();
                    let make = || {
                        count.fetch_add(1, Ordering::SeqCst);
                        made(&job(4))
                    };
                    programs.get(&job(4), make).unwrap();
                });
            }
        });
        assert_eq!(count.into_inner(), 1);
    }

    /// A request for a program from within the making of that program does not deadlock: making uses rayon, whose
    /// threads may steal such a request.
    #[test]
    fn nested_requests_do_not_deadlock() {
        let programs = Programs::new(9);
        let make = || {
            (0..64).into_par_iter().for_each(|_| std::thread::yield_now());
            made(&job(4))
        };
        (0..500).into_par_iter().for_each(|_| {
            programs.get(&job(4), make).unwrap();
        });
        let nested = || {
            programs.get(&job(8), || made(&job(8))).unwrap();
            made(&job(8))
        };
        rayon::scope(|scope| scope.spawn(|_| drop(programs.get(&job(8), nested).unwrap())));
    }

    #[test]
    fn a_panic_does_not_block_later_requests() {
        let programs = Programs::new(9);
        for thread in [false, true] {
            let attempt = || {
                let panics = || programs.get(&job(4), || panic!("as it was told"));
                assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(panics)).is_err());
                programs.get(&job(4), || made(&job(4))).unwrap();
                programs.clear();
            };
            if thread { rayon::scope(|_| attempt()) } else { attempt() }
        }
    }

    #[test]
    fn least_recently_used_programs_are_removed() {
        let programs = Programs::new(2);
        for n in [1, 2, 1, 4] {
            programs.get(&job(n), || made(&job(n))).unwrap();
        }
        programs.get(&job(1), || panic!("it is there")).unwrap();
        let again = Error::Ring { why: "made again".into() };
        assert_eq!(programs.get(&job(2), || Err(again.clone())).unwrap_err(), again);
        // the failure above was not cached
        programs.get(&job(2), || made(&job(2))).unwrap();
        programs.get(&job(2), || panic!("it is there")).unwrap();
        programs.clear();
        assert_eq!(programs.get(&job(2), || Err(again.clone())).unwrap_err(), again);
    }

    #[test]
    fn keys_of_different_types_differ() {
        #[derive(Clone, PartialEq)]
        struct Own(u32);

        let programs = Programs::new(9);
        let jobs = [1, 2, 4].map(job);
        programs.get(&1u32, || made(&jobs[0])).unwrap();
        programs.get(&Own(1), || made(&jobs[1])).unwrap();
        programs.get(&Own(2), || made(&jobs[2])).unwrap();
        let title = |program: Result<Program>| program.unwrap().plan().title().to_owned();
        let titles = jobs.map(|job| title(made(&job)));
        assert_eq!(title(programs.get(&1u32, || panic!("it is there"))), titles[0]);
        assert_eq!(title(programs.get(&Own(1), || panic!("it is there"))), titles[1]);
        assert_eq!(title(programs.get(&Own(2), || panic!("it is there"))), titles[2]);
    }
}
