//! Plonky3's polynomial commitment scheme based on FRI.

use p3_challenger::{CanObserve, FieldChallenger, GrindingChallenger};
use p3_commit::{
    CommitmentOpening, Mmcs as MmcsTrait, OpenedValues, OpeningRequest, Pcs as PcsTrait, PeriodicLdeTable,
    PolynomialSpace, UnivariateStarkPcs,
};
use p3_field::ExtensionField;
use p3_field::coset::TwoAdicMultiplicativeCoset;
use p3_fri::verifier::FriError;
use p3_fri::{BatchMultiOpening, FriParameters, FriProof, FriProverError, TwoAdicFriPcs};
use p3_matrix::Matrix;
use p3_matrix::dense::RowMajorMatrix;
use ringforge::Error;

use crate::commit::Traces;
use crate::dft::Dft;
use crate::engine::or_stock;
use crate::hash::HashField;
use crate::mmcs::{Committed, Made, Mmcs};

/// Plonky3's `TwoAdicFriPcs` over [`Dft`] and [`Mmcs`], with a different `commit`. This `commit` extends and hashes
/// traces on the device, and copies each extension to the host once, overlapping the hashing. Commitments equal those
/// of `TwoAdicFriPcs`, whose verifier accepts the proofs. Everything but `commit` is Plonky3's own code.
///
/// If whole traces and their extensions do not fit the device, columns are processed in parts. If the device fails,
/// Plonky3's own `commit` takes over, using [`Dft`] and [`Mmcs`], and the first failure is logged.
#[derive(Debug, Clone)]
pub struct Pcs<F: HashField, FriMmcs> {
    stock: TwoAdicFriPcs<F, Dft<F>, Mmcs<F>, FriMmcs>,
    mmcs: Mmcs<F>,
    fri: FriParameters<FriMmcs>,
    /// The device memory in bytes that a commitment may use.
    budget: usize,
}

impl<F: HashField, FriMmcs> Pcs<F, FriMmcs> {
    /// A commitment scheme with these transforms. If `mmcs` has an engine, whole commitments are made on its device.
    #[must_use]
    pub fn new(dft: Dft<F>, mmcs: Mmcs<F>, fri: FriParameters<FriMmcs>) -> Self
    where
        FriMmcs: Clone,
    {
        Self { stock: TwoAdicFriPcs::new(dft, mmcs.clone(), fri.clone()), mmcs, fri, budget: usize::MAX }
    }

    /// The parameters of FRI.
    pub(crate) fn fri(&self) -> &FriParameters<FriMmcs> {
        &self.fri
    }

    /// log2 of the blow-up factor.
    pub(crate) fn log_blowup(&self) -> usize {
        self.fri.log_blowup
    }

    /// Checks that FRI's last polynomial is shorter than a trace of 2^log_n rows.
    ///
    /// # Errors
    /// [`Error::Length`] if it is not.
    pub(crate) fn check_height(&self, log_n: usize) -> Result<(), Error> {
        let last = self.fri.log_final_poly_len;
        if last > 0 && log_n <= last {
            let what = "log2 of the extension's rows (must be larger, for the length of FRI's last polynomial)";
            let (expected, got) = (last + self.log_blowup() + 1, log_n + self.log_blowup());
            return Err(Error::Length { what, expected, got });
        }
        Ok(())
    }

    /// The commitments to traces.
    pub(crate) fn mmcs(&self) -> &Mmcs<F> {
        &self.mmcs
    }

    /// Limits the device memory of a commitment to this many bytes. If an upper estimate of its memory is larger,
    /// columns are processed in parts. If even the smallest parts do not fit, Plonky3's code makes the commitment.
    #[must_use]
    pub fn within(self, bytes: usize) -> Self {
        Self { budget: bytes, ..self }
    }

    /// The commitment made on the device. Returns `None` if there is no engine, if the engine does not support these
    /// traces, or if the device fails.
    fn on_device(
        &self,
        evaluations: &[(TwoAdicMultiplicativeCoset<F>, RowMajorMatrix<F>)],
    ) -> Option<Made<F, RowMajorMatrix<F>>> {
        let engine = self.mmcs.engine()?;
        let fits =
            |(domain, values): &(TwoAdicMultiplicativeCoset<F>, RowMajorMatrix<F>)| domain.size() == values.height();
        if !evaluations.iter().all(fits) {
            return None;
        }
        let traces: Vec<_> =
            evaluations.iter().map(|(domain, values)| (F::GENERATOR / domain.shift(), values)).collect();
        let traces = Traces { traces: &traces, added_bits: self.fri.log_blowup };
        if !traces.served() {
            return None;
        }
        let outcome = traces.commit(engine, self.mmcs.hash(), self.budget);
        let (extensions, tree) = or_stock("a commitment", outcome)?;
        self.mmcs.committed(extensions, tree)
    }
}

impl<F, FriMmcs, Challenge, Challenger> PcsTrait<Challenge, Challenger> for Pcs<F, FriMmcs>
where
    F: HashField,
    FriMmcs: MmcsTrait<Challenge>,
    Challenge: ExtensionField<F>,
    Challenger: FieldChallenger<F> + CanObserve<FriMmcs::Commitment> + GrindingChallenger<Witness = F>,
{
    type Domain = TwoAdicMultiplicativeCoset<F>;
    type Commitment = <Mmcs<F> as MmcsTrait<F>>::Commitment;
    type ProverData = Committed<F, RowMajorMatrix<F>>;
    type Proof = FriProof<Challenge, FriMmcs, F, Vec<BatchMultiOpening<F, Mmcs<F>>>>;
    type Error = FriError<FriMmcs::Error, <Mmcs<F> as MmcsTrait<F>>::Error>;
    type ProverError = FriProverError;

    fn natural_domain_for_degree(&self, degree: usize) -> Self::Domain {
        PcsTrait::<Challenge, Challenger>::natural_domain_for_degree(&self.stock, degree)
    }

    fn commit(
        &self,
        evaluations: impl IntoIterator<Item = (Self::Domain, RowMajorMatrix<F>)>,
    ) -> Result<(Self::Commitment, Self::ProverData), Self::ProverError> {
        let evaluations: Vec<_> = evaluations.into_iter().collect();
        match self.on_device(&evaluations) {
            Some(made) => Ok(made),
            None => PcsTrait::<Challenge, Challenger>::commit(&self.stock, evaluations),
        }
    }

    fn open(
        &self,
        requests: Vec<OpeningRequest<'_, Self::ProverData, Challenge>>,
        challenger: &mut Challenger,
    ) -> Result<(OpenedValues<Challenge>, Self::Proof), Self::ProverError> {
        self.stock.open(requests, challenger)
    }

    fn verify(
        &self,
        openings: Vec<CommitmentOpening<Challenge, Self::Commitment, Self::Domain>>,
        proof: &Self::Proof,
        challenger: &mut Challenger,
    ) -> Result<(), Self::Error> {
        self.stock.verify(openings, proof, challenger)
    }
}

impl<F, FriMmcs, Challenge, Challenger> UnivariateStarkPcs<Challenge, Challenger> for Pcs<F, FriMmcs>
where
    F: HashField,
    FriMmcs: MmcsTrait<Challenge>,
    Challenge: ExtensionField<F>,
    Challenger: FieldChallenger<F> + CanObserve<FriMmcs::Commitment> + GrindingChallenger<Witness = F>,
{
    type EvaluationsOnDomain<'a> = <TwoAdicFriPcs<F, Dft<F>, Mmcs<F>, FriMmcs> as UnivariateStarkPcs<
        Challenge,
        Challenger,
    >>::EvaluationsOnDomain<'a>;

    const ZK: bool = false;

    fn log_max_trace_height(&self) -> usize {
        UnivariateStarkPcs::<Challenge, Challenger>::log_max_trace_height(&self.stock)
    }

    fn log_min_trace_height(&self) -> usize {
        UnivariateStarkPcs::<Challenge, Challenger>::log_min_trace_height(&self.stock)
    }

    /// Commits to the chunks of the quotient as [`PcsTrait::commit`] does to traces.
    fn commit_quotient(
        &self,
        quotient_domain: Self::Domain,
        quotient_evaluations: RowMajorMatrix<F>,
        num_chunks: usize,
    ) -> Result<(Self::Commitment, Self::ProverData), Self::ProverError> {
        let chunks = quotient_domain.split_evals(num_chunks, quotient_evaluations);
        let domains = quotient_domain.split_domains(num_chunks);
        PcsTrait::<Challenge, Challenger>::commit(self, domains.into_iter().zip(chunks))
    }

    fn get_quotient_ldes(
        &self,
        evaluations: impl IntoIterator<Item = (Self::Domain, RowMajorMatrix<F>)>,
        num_chunks: usize,
    ) -> Result<Vec<RowMajorMatrix<F>>, Self::ProverError> {
        UnivariateStarkPcs::<Challenge, Challenger>::get_quotient_ldes(&self.stock, evaluations, num_chunks)
    }

    fn commit_ldes(
        &self,
        ldes: Vec<RowMajorMatrix<F>>,
    ) -> Result<(Self::Commitment, Self::ProverData), Self::ProverError> {
        UnivariateStarkPcs::<Challenge, Challenger>::commit_ldes(&self.stock, ldes)
    }

    fn get_evaluations_on_domain<'a>(
        &self,
        prover_data: &'a Self::ProverData,
        idx: usize,
        domain: Self::Domain,
    ) -> Self::EvaluationsOnDomain<'a> {
        UnivariateStarkPcs::<Challenge, Challenger>::get_evaluations_on_domain(&self.stock, prover_data, idx, domain)
    }

    fn build_periodic_lde_table(
        &self,
        periodic_cols: &[Vec<F>],
        trace_domain: Self::Domain,
        quotient_domain: Self::Domain,
    ) -> PeriodicLdeTable<F> {
        UnivariateStarkPcs::<Challenge, Challenger>::build_periodic_lde_table(
            &self.stock,
            periodic_cols,
            trace_domain,
            quotient_domain,
        )
    }
}
