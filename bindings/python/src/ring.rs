//! Rings, and operations on their elements.

#![allow(unsafe_code)]

use core::ffi::c_void;

use numpy::{PyReadonlyArray1, PyReadwriteArray1};
use pyo3::prelude::*;
use ringforge::{Error, Form, Order};
use ringforge_bindings::{Evaluations, Lent, Operand, Operation, depth, may_work, run_lent, run_new};

use crate::device::DeviceArray;
use crate::engine::Engine;
use crate::error::{exception, named};
use crate::tensor::Tensor;

/// A ring with the engine that runs its operations. Host arrays are flat arrays of bytes.
#[pyclass(frozen, module = "pyringforge._native")]
#[derive(Debug)]
pub(crate) struct Ring {
    engine: ringforge::Engine,
    ring: ringforge::PolyType,
}

fn order_of(name: &str) -> PyResult<Order> {
    match name {
        "digit_reversed" => Ok(Order::DigitReversed),
        "natural" => Ok(Order::Natural),
        _ => Err(named("ArgumentError", format!("order: expected 'natural' or 'digit_reversed', got {name:?}"))),
    }
}

/// The name of an operation, with the order and depth of its evaluations, and the exponent of an automorphism.
type Named = (String, String, Option<u32>, Option<u64>);

fn operation_of((name, order, depth, exponent): &Named) -> PyResult<Operation> {
    let evaluations = Evaluations { order: order_of(order)?, depth: *depth };
    match name.as_str() {
        "add" => Ok(Operation::Add),
        "sub" => Ok(Operation::Sub),
        "automorphism" => Ok(Operation::Automorphism(exponent.unwrap_or(1))),
        "forward" => Ok(Operation::Forward(evaluations)),
        "inverse" => Ok(Operation::Inverse(evaluations)),
        "mul" => Ok(Operation::Mul),
        "point_mul" => Ok(Operation::PointMul(evaluations)),
        _ => Err(named("ArgumentError", format!("operation: {name:?} is unknown"))),
    }
}

/// Converts an error to an exception that names arguments as the Python package does.
fn refused(error: Error) -> PyErr {
    match error {
        Error::Argument { name: "from" | "elements", error } => exception(&Error::Argument { name: "x", error }),
        error => exception(&error),
    }
}

/// An array on the device: the engine's, or a tensor of another library.
#[derive(FromPyObject)]
pub(crate) enum Input<'py> {
    Own(PyRef<'py, DeviceArray>),
    Lent(PyRef<'py, Tensor>),
}

impl Input<'_> {
    fn operand(&self) -> Operand<'_> {
        match self {
            Self::Own(array) => Operand::Own(array.buffer()),
            Self::Lent(tensor) => Operand::Lent(tensor.lent()),
        }
    }
}

/// A driver handle as an integer, because a pointer is not `Send`.
#[derive(Clone, Copy)]
struct Handle(usize);

impl Handle {
    fn get(self) -> *mut c_void {
        core::ptr::with_exposed_provenance_mut(self.0)
    }
}

#[pymethods]
impl Ring {
    /// Parses a ring from text.
    #[new]
    fn new(engine: &Engine, text: &str) -> PyResult<Self> {
        let ring = text.parse().map_err(|error| exception(&error))?;
        Ok(Self { engine: engine.engine.clone(), ring })
    }

    /// Returns the same ring with residues in plain (not Montgomery) form.
    fn plain(&self) -> PyResult<Self> {
        let ring = self.ring.clone().with_form(Form::Plain).map_err(|error| exception(&error))?;
        Ok(Self { engine: self.engine.clone(), ring })
    }

    /// Text from which the same ring can be parsed.
    #[getter]
    fn text(&self) -> String {
        format!("{:#}", self.ring)
    }

    /// The degree of the ring's polynomial f.
    #[getter]
    fn degree(&self) -> usize {
        self.ring.degree()
    }

    /// The modulus of each limb, in decimal digits.
    #[getter]
    fn moduli(&self) -> Vec<String> {
        self.ring.basis().iter().map(ToString::to_string).collect()
    }

    /// Number of bytes of a residue.
    #[getter]
    fn word_bytes(&self) -> usize {
        self.ring.width().bytes()
    }

    /// The number of layers of the deepest transform; `None` for a ring without a transform.
    #[getter]
    fn depth(&self) -> Option<u32> {
        depth(&self.ring)
    }

    /// Runs an operation on host memory.
    fn run(
        &self,
        py: Python<'_>,
        operation: Named,
        inputs: Vec<PyReadonlyArray1<'_, u8>>,
        mut output: PyReadwriteArray1<'_, u8>,
    ) -> PyResult<()> {
        let operation = operation_of(&operation)?;
        let inputs = inputs.iter().map(|input| input.as_slice()).collect::<Result<Vec<_>, _>>()?;
        let output = output.as_slice_mut()?;
        py.detach(|| operation.run(&self.engine, &self.ring, &inputs, output)).map_err(refused)
    }

    /// Runs a transform in place on host memory.
    fn run_in_place(&self, py: Python<'_>, operation: Named, mut elements: PyReadwriteArray1<'_, u8>) -> PyResult<()> {
        let operation = operation_of(&operation)?;
        let elements = elements.as_slice_mut()?;
        py.detach(|| operation.run_in_place(&self.engine, &self.ring, elements)).map_err(refused)
    }

    /// Copies elements from coefficients in host memory to the device. Residues are checked to be below their moduli.
    fn upload(&self, py: Python<'_>, coefficients: PyReadonlyArray1<'_, u8>, shape: Vec<i64>) -> PyResult<DeviceArray> {
        let from = coefficients.as_slice()?;
        let uploaded = py.detach(|| {
            may_work()?;
            let stream = self.engine.stream()?;
            Ok((stream.upload_elements(&self.ring, from)?, stream.clone()))
        });
        let (buffer, stream) = uploaded.map_err(|error| exception(&error))?;
        Ok(DeviceArray::new(buffer, stream, shape, self.ring.width()))
    }

    /// Runs an operation on the device and returns a new array. If a stream is given, the work is in the order of this
    /// stream.
    #[pyo3(signature = (operation, inputs, shape, stream = None))]
    fn run_device(
        &self,
        py: Python<'_>,
        operation: Named,
        inputs: Vec<Input<'_>>,
        shape: Vec<i64>,
        stream: Option<usize>,
    ) -> PyResult<DeviceArray> {
        let operation = operation_of(&operation)?;
        let operands: Vec<Operand<'_>> = inputs.iter().map(Input::operand).collect();
        let handle = stream.map(Handle);
        let made = py.detach(|| {
            // SAFETY: the DLPack producer guarantees that the tensor's memory is valid, and ready on the stream that
            // the package asked for, which is `handle`. The package holds the tensor until the call returns.
            unsafe { run_new(&self.engine, &self.ring, operation, handle.map(Handle::get), &operands) }
        });
        let (buffer, stream) = made.map_err(|error| exception(&error))?;
        Ok(DeviceArray::new(buffer, stream, shape, self.ring.width()))
    }

    /// Runs an operation on the device, writing to the memory of a tensor, in the order of a stream.
    fn run_device_into(
        &self,
        py: Python<'_>,
        operation: Named,
        inputs: Vec<Input<'_>>,
        output: &Tensor,
        stream: usize,
    ) -> PyResult<()> {
        let operation = operation_of(&operation)?;
        let operands: Vec<Operand<'_>> = inputs.iter().map(Input::operand).collect();
        let (output, handle): (Lent, _) = (output.lent(), Handle(stream));
        let ran = py.detach(|| {
            // SAFETY: the DLPack producer guarantees memory that is valid and ready on `handle`. The package holds the
            // tensors until the call returns, and passes no read-only tensor as the output.
            unsafe { run_lent(&self.engine, &self.ring, operation, handle.get(), &operands, output) }
        });
        ran.map_err(|error| exception(&error))
    }
}
