//! Kernels whose names and CUDA sources are generated at run time.

#![allow(unsafe_code)]

use ringforge::kernels::{Built, CustomKernel, Port};
use ringforge::{Planner, Result};
use ringforge_testkit::{NamedPlan, check_plan, devices, seed};

/// A kernel that adds a constant to each byte. The constant is part of the kernel's name and of its source.
fn adds(constant: u8) -> CustomKernel {
    let name = format!("adds_{constant}");
    let text = format!(
        "#include \"prelude.cuh\"\n\
         extern \"C\" __global__ void {name}(const rf::u8 *from, rf::u8 *to, rf::u64 first, rf::u64 end) {{\n\
         \x20   const rf::u64 item = first + rf::u64(blockIdx.x) * blockDim.x + threadIdx.x;\n\
         \x20   if (item < end) to[item] = from[item] + {constant};\n\
         }}\n"
    );
    // SAFETY: a thread reads and writes one byte, that of its item.
    unsafe {
        CustomKernel::new(
            (name, text, &[]),
            [Port::input(1), Port::output(1)],
            |_| Ok(Built::thread_per_item(64)),
            move |items, args| {
                args.each(items, |_, (from, to): (&u8, &mut u8)| {
                    *to = from.wrapping_add(constant);
                    Ok(())
                })
            },
        )
    }
}

#[test]
fn names_and_sources_may_be_made_at_run_time() -> Result<()> {
    let p = Planner::default().pipeline("sums");
    let sum = [1, 7, 200].into_iter().fold(p.input("from"), |value, constant| p.step::<1>(adds(constant), &[value])[0]);
    p.output("to", sum);
    let plan = p.build()?;
    assert!(plan.to_string().contains("adds_200"), "{plan}");
    check_plan(&NamedPlan::new("sums", plan), &devices(), seed());
    Ok(())
}
