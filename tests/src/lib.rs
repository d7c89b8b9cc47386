//! Code shared by the tests of the workspace.
//!
//! The types `Slot` and `Step`, which bind the steps of a plan, are private to the engine:
//!
//! ```compile_fail,E0432
//! use ringforge::Slot;
//! ```
//!
//! ```compile_fail,E0432
//! use ringforge::Step;
//! ```

pub mod catalogue;
pub mod mix;
pub mod shared_out;

/// Runs the examples of the book.
#[cfg(doctest)]
mod book {
    #[doc = include_str!("../../docs/index.md")]
    struct Index;
    #[doc = include_str!("../../docs/concepts/encoding.md")]
    struct ConceptsEncoding;
    #[doc = include_str!("../../docs/concepts/orders.md")]
    struct ConceptsOrders;
    #[doc = include_str!("../../docs/concepts/plans.md")]
    struct ConceptsPlans;
    #[doc = include_str!("../../docs/concepts/rings.md")]
    struct ConceptsRings;
    #[doc = include_str!("../../docs/guides/batches.md")]
    struct GuidesBatches;
    #[doc = include_str!("../../docs/guides/deploying.md")]
    struct GuidesDeploying;
    #[doc = include_str!("../../docs/guides/encrypted.md")]
    struct GuidesEncrypted;
    #[doc = include_str!("../../docs/guides/gpus.md")]
    struct GuidesGpus;
    #[doc = include_str!("../../docs/guides/groth16.md")]
    struct GuidesGroth16;
    #[doc = include_str!("../../docs/guides/integers.md")]
    struct GuidesIntegers;
    #[doc = include_str!("../../docs/guides/kzg.md")]
    struct GuidesKzg;
    #[doc = include_str!("../../docs/guides/measuring.md")]
    struct GuidesMeasuring;
    #[doc = include_str!("../../docs/guides/plonky3.md")]
    struct GuidesPlonky3;
    #[doc = include_str!("../../docs/guides/scheme.md")]
    struct GuidesScheme;
    #[doc = include_str!("../../docs/guides/serving.md")]
    struct GuidesServing;
    #[doc = include_str!("../../docs/guides/streams.md")]
    struct GuidesStreams;
    #[doc = include_str!("../../docs/how/factorisation.md")]
    struct HowFactorisation;
    #[doc = include_str!("../../docs/how/fusion.md")]
    struct HowFusion;
    #[doc = include_str!("../../docs/how/life-of-a-call.md")]
    struct HowLifeOfACall;
    #[doc = include_str!("../../docs/how/memory-and-secrets.md")]
    struct HowMemoryAndSecrets;
    #[doc = include_str!("../../docs/how/testing.md")]
    struct HowTesting;
    #[doc = include_str!("../../docs/reference/errors.md")]
    struct ReferenceErrors;
    #[doc = include_str!("../../docs/reference/support.md")]
    struct ReferenceSupport;
    #[doc = include_str!("../../docs/start/first-product.md")]
    struct StartFirstProduct;
    #[doc = include_str!("../../docs/start/where-it-runs.md")]
    struct StartWhereItRuns;
}
