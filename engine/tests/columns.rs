//! Strided batches, where the polynomials are the columns of a row-major matrix, on every device. Operations that do
//! not support columns are rejected.

use crate::fixtures::columns::Columns;
use ringforge::{Engine, Error, Job, Limits, Op, Order, Planner, PolyType, Result};
use ringforge_testkit::{Target, check_scheme};

#[test]
fn cpu() {
    check_scheme::<Columns>(Target::Cpu);
}

#[test]
fn emulator() {
    check_scheme::<Columns>(Target::Emulator);
}

#[test]
fn cuda() {
    check_scheme::<Columns>(Target::Cuda);
}

fn ring(text: &str) -> PolyType {
    text.parse().expect("a ring")
}

#[test]
fn unsupported_operations_on_columns_are_refused() -> Result<()> {
    let three = ring("97 : x^16 - 1 : 3 columns");
    for op in [Op::Mul, Op::PointMul, Op::MulAdd] {
        let plan = Planner::default().plan(&Job::new(&three, op));
        assert!(matches!(&plan, Err(Error::Unsupported { why, .. }) if why.contains("columns")), "{plan:?}");
    }
    // a product that needs a larger NTT
    assert!(matches!(
        Planner::default().plan(&Job::new(ring("15 : x^7 - 2 : 2 columns"), Op::Mul)),
        Err(Error::Unsupported { .. })
    ));
    let engine = Engine::cpu();
    let refused = |made: &dyn Fn(&ringforge::Pipeline)| {
        let p = engine.pipeline("refused");
        made(&p);
        let error = p.build().expect_err("a refusal").to_string();
        assert!(error.contains("columns"), "{error}");
    };
    refused(&|p| p.output("b", p.coefficients("a", &three).automorphism(3)));
    refused(&|p| p.output("b", p.coefficients("a", &three).forward().automorphism(3)));
    refused(&|p| p.output("b", p.coefficients("a", ring("97 : x^16 + 1 : 2 columns")).rotate(1)));
    refused(&|p| p.output("b", p.coefficients("a", &three).extend(ring("97 : x^32 - 1 : 2 columns"))));
    refused(&|p| p.output("b", p.coefficients("a", &three).extend(ring("97 : x^96 - 1"))));
    refused(&|p| p.output("b", p.coefficients("a", &three).digits(3, ring("97 : x^16 - 1"))));
    let of_rows = ringforge::kernels::KernelLayout::of(&three, &Limits::default());
    assert!(matches!(of_rows, Err(Error::Unsupported { .. })));
    let long = ringforge::run::LongPlan::new(&Planner::default(), &three, 2);
    assert!(matches!(long, Err(Error::Unsupported { why, .. }) if why.contains("columns")));
    assert!(matches!(ring("97 : x^16 - 1").strided_batch(0), Err(Error::Ring { .. })));
    for columns in [(1 << 27) + 1, 1 << 32, usize::MAX] {
        assert!(matches!(ring("97 : x^16 - 1").strided_batch(columns), Err(Error::TooLarge { .. })), "{columns}");
    }
    Ok(())
}

#[test]
fn a_matrix_has_the_columns_it_names() -> Result<()> {
    let three = ring("97 : x^16 - 1").strided_batch(3)?;
    assert_eq!((three.columns(), three.degree(), three.bytes()), (3, 48, 96));
    assert_eq!(three.clone().strided_batch(2)?, ring("97 : x^16 - 1 : 6 columns"));
    assert_eq!(ring("97 : x^16 - 1").strided_batch(1)?, ring("97 : x^16 - 1"));
    assert_ne!(three, ring("97 : x^16 - 1"));
    assert_eq!(three.limbs(0..1)?.columns(), 3);
    assert_eq!(three.vector(2)?.columns(), 3);
    assert_eq!(format!("{three} = {three:#}"), "Z_97[x]/(x^16 - 1) in 3 columns = 97 : x^16 - 1 : 3 columns");
    Ok(())
}

/// One compiled kernel serves all widths except the smallest, and all widths share the twiddle tables of a single
/// column.
#[test]
fn widths_share_sources_and_tables() -> Result<()> {
    let limits = Limits::h200();
    let column = ring("2013265921 : x^65536 - 1 : montgomery");
    for op in [Op::Forward, Op::Inverse] {
        let of = |columns: usize| {
            let job = Job::new(&column.clone().strided_batch(columns)?, op).order(Order::Natural);
            let plan = Planner::new(limits.clone()).plan(&job)?;
            let texts = plan
                .kernels()
                .map(|kernel| Ok(kernel.source(&limits)?.prelude().into()))
                .collect::<Result<Vec<String>>>()?;
            Ok::<_, Error>((texts, plan.tables().map(|table| format!("{table:?}")).collect::<Vec<_>>()))
        };
        let (texts, tables) = of(37)?;
        for columns in [33, 64, 100, 1000, 1001] {
            assert!(of(columns)? == (texts.clone(), tables.clone()), "{columns}");
        }
    }
    Ok(())
}
