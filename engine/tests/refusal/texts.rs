//! The printed form of a ring parses back to the same ring.

use proptest::collection::vec;
use proptest::prelude::*;
use ringforge::{Error, Modulus, PolyType, Quotient, Result, Ring, U256};

/// Coprime moduli of all widths.
const MODULI: [&str; 7] = [
    "2",
    "17",
    "97",
    "3329",
    "ffffffff00000001",
    "1000000000000000000000007",
    "7fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffed",
];

fn moduli() -> impl Strategy<Value = (Vec<Modulus>, Vec<usize>)> {
    let moduli = proptest::sample::subsequence(MODULI.to_vec(), 1..4).prop_shuffle();
    (moduli, vec(0usize..4, 0..6)).prop_map(|(digits, map)| {
        let moduli: Vec<Modulus> = digits.iter().map(|q| Modulus::from_hex(q).expect("a modulus")).collect();
        let map = map.into_iter().map(|i| i % moduli.len()).collect();
        (moduli, map)
    })
}

fn quotient() -> impl Strategy<Value = Quotient> {
    let n = 1usize..20;
    let small = prop_oneof![-2i64..3, Just(i64::MIN), Just(i64::MAX), any::<i64>()];
    let constant = prop_oneof![
        (0u64..4).prop_map(U256::from),
        any::<u64>().prop_map(U256::from),
        any::<[u64; 4]>().prop_map(U256::from_words),
    ];
    let terms = proptest::collection::btree_map(0usize..20, small.clone(), 0..4);
    prop_oneof![
        n.clone().prop_map(|n| Quotient::Cyclic { n }),
        n.clone().prop_map(|n| Quotient::Negacyclic { n }),
        (n.clone(), constant).prop_map(|(n, c)| Quotient::Binomial { n, c }),
        n.clone().prop_map(|n| Quotient::Trinomial { n: 2 * n }),
        n.clone().prop_map(|n| Quotient::PrimeTrinomial { p: n + 1 }),
        (n.clone(), small).prop_map(|(n, c)| Quotient::Sparse { n, terms: vec![(0, c)] }),
        (terms, any::<bool>()).prop_map(|(terms, turned)| {
            let mut terms: Vec<(usize, i64)> = terms.into_iter().collect();
            if turned {
                terms.reverse();
            }
            Quotient::Sparse { n: 20, terms }
        }),
    ]
}

fn same(ring: &PolyType) -> Result<(), TestCaseError> {
    let text = format!("{ring:#}");
    let parsed = text.parse::<PolyType>();
    prop_assert_eq!(parsed.as_ref(), Ok(ring), "{}", text);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn any_ring((moduli, map) in moduli(), quotient in quotient()) {
        let plain = PolyType::from(Ring::new(&moduli, quotient.clone()).expect("a ring"));
        same(&plain)?;
        // also in the notation that users write, which leaves defaults out
        let list: Vec<String> = moduli.iter().map(Modulus::to_string).collect();
        let text = format!("{}:{quotient}", list.join(","));
        prop_assert_eq!(text.parse::<PolyType>(), Ok(plain), "{}", text);
        if !map.is_empty() {
            same(&Ring::new(&moduli, quotient).and_then(|ring| PolyType::from(ring).with_limbs(&map)).expect("a ring"))?;
        }
    }
}

#[test]
fn rings_with_roots() -> Result<()> {
    let q = |q: u32| Modulus::new(q);
    let named = [
        PolyType::from(Ring::negacyclic(256, q(3329)?)?.with_root(17u32)?),
        PolyType::from(Ring::rns(16, &[q(97)?, q(193)?])?.with_roots(&[19u32, 8].map(U256::from))?),
        PolyType::from(Ring::coset(4, q(17)?, 3u32, 13u32)?),
        PolyType::from(Ring::coset(4, q(17)?, 1u32, 13u32)?), // x^4 - 1, and not cyclic
        PolyType::from(
            Ring::new(&[q(17)?], Quotient::Binomial { n: 4, c: 13u32.into() })?.with_steps(&[13u32.into()])?,
        ),
        PolyType::from(Ring::rns(16, &[q(97)?, q(193)?])?.with_roots(&[19u32, 8].map(U256::from))?)
            .with_limbs(&[1, 0, 1])?,
    ];
    for ring in named {
        assert_eq!(format!("{ring:#}").parse::<PolyType>(), Ok(ring));
    }
    Ok(())
}

#[test]
fn sparse_quotients_become_named_ones() -> Result<()> {
    let ring = |n, terms: &[(usize, i64)]| {
        Ring::new(&[Modulus::new(97u32)?], Quotient::Sparse { n, terms: terms.to_vec() })
            .map(PolyType::from)
            .map(|ring| ring.ring().quotient().clone())
    };
    assert_eq!(ring(8, &[(0, 1), (3, 0)])?, Quotient::Negacyclic { n: 8 });
    assert_eq!(ring(8, &[(0, -1)])?, Quotient::Cyclic { n: 8 });
    assert_eq!(ring(8, &[(0, 5)])?, Quotient::Binomial { n: 8, c: 92u32.into() });
    assert_eq!(ring(8, &[(0, i64::MIN)])?, Quotient::Binomial { n: 8, c: (1u64 << 63).into() });
    assert_eq!(ring(8, &[(0, 1), (4, -1)])?, Quotient::Trinomial { n: 8 });
    assert_eq!(ring(7, &[(0, -1), (1, -1)])?, Quotient::PrimeTrinomial { p: 7 });
    assert_eq!(ring(7, &[(0, 2), (5, 0), (6, 3)])?, Quotient::Sparse { n: 7, terms: vec![(6, 3), (0, 2)] });
    Ok(())
}

#[test]
fn invalid_texts() {
    for text in [
        "97,193#:x^4+1",
        "97,193#0,2:x^4+1",
        "97#x:x^4+1",
        "97:x^4+(1)",
        "97:x^4-(5)x",
        "97:x^4-(x)",
        "97:x^4-(5",
        "97:(x^4)-1",
        "17:x^4-13@@",
        "17:x^4-13@@13@",
    ] {
        assert!(matches!(text.parse::<PolyType>(), Err(Error::Ring { .. })), "{text}: {:?}", text.parse::<PolyType>());
    }
}
