//! Rings, and what is done to their elements.

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

/// A ring with the engine that works in it. Arrays are flat, of bytes.
#[pyclass(frozen, module = "pyringforge._native")]
#[derive(Debug)]
pub(crate) struct Ring {
    engine: ringforge::Engine,
    ring: ringforge::PolyType,
}

fn order_of(name: &str) -> PyResult<Order> {
    match name {
        "tree" => Ok(Order::Tree),
        "natural" => Ok(Order::Natural),
        _ => Err(named("ArgumentError", format!("order: {name:?} is neither 'natural' nor 'tree'"))),
    }
}

/// The name of an operation, and of evaluations the order and the depth.
type Named = (String, String, Option<u32>);

fn operation_of((name, order, depth): &Named) -> PyResult<Operation> {
    let evaluations = Evaluations { order: order_of(order)?, depth: *depth };
    match name.as_str() {
        "forward" => Ok(Operation::Forward(evaluations)),
        "inverse" => Ok(Operation::Inverse(evaluations)),
        "mul" => Ok(Operation::Mul),
        "point_mul" => Ok(Operation::PointMul(evaluations)),
        _ => Err(named("ArgumentError", format!("operation: there is no {name:?}"))),
    }
}

/// An error as an exception, with an argument's name as it is in Python.
fn refused(error: Error) -> PyErr {
    match error {
        Error::Argument { name: "from" | "elements", error } => exception(&Error::Argument { name: "x", error }),
        error => exception(&error),
    }
}

/// An array on the device: the engine's or another's.
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

/// A driver's handle by its number.
#[derive(Clone, Copy)]
struct Handle(usize);

impl Handle {
    fn get(self) -> *mut c_void {
        core::ptr::with_exposed_provenance_mut(self.0)
    }
}

#[pymethods]
impl Ring {
    /// The ring of a text.
    #[new]
    fn new(engine: &Engine, text: &str) -> PyResult<Self> {
        let ring = text.parse().map_err(|error| exception(&error))?;
        Ok(Self { engine: engine.engine.clone(), ring })
    }

    /// The same with residues in plain form.
    fn plain(&self) -> PyResult<Self> {
        let ring = self.ring.clone().with_form(Form::Plain).map_err(|error| exception(&error))?;
        Ok(Self { engine: self.engine.clone(), ring })
    }

    /// The text that makes the same ring.
    #[getter]
    fn text(&self) -> String {
        format!("{:#}", self.ring)
    }

    /// The degree of f.
    #[getter]
    fn degree(&self) -> usize {
        self.ring.degree()
    }

    /// The modulus of each row, in decimal digits.
    #[getter]
    fn moduli(&self) -> Vec<String> {
        self.ring.basis().iter().map(ToString::to_string).collect()
    }

    /// Bytes of a residue.
    #[getter]
    fn word_bytes(&self) -> usize {
        self.ring.width().bytes()
    }

    /// Layers of the deepest transform; none of a ring without one.
    #[getter]
    fn depth(&self) -> Option<u32> {
        depth(&self.ring)
    }

    /// An operation on host memory.
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

    /// A transform on host memory in place.
    fn run_in_place(&self, py: Python<'_>, operation: Named, mut elements: PyReadwriteArray1<'_, u8>) -> PyResult<()> {
        let operation = operation_of(&operation)?;
        let elements = elements.as_slice_mut()?;
        py.detach(|| operation.run_in_place(&self.engine, &self.ring, elements)).map_err(refused)
    }

    /// Elements to the device, from their coefficients in host memory.
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

    /// An operation on the device, into a new array, in the order of the caller's stream where one is given.
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
            // SAFETY: whoever gives out a tensor by DLPack says that its memory is there, and ready on the stream that it was
            // asked for with, which is the one that is given here; the package holds the tensor until the call is over.
            unsafe { run_new(&self.engine, &self.ring, operation, handle.map(Handle::get), &operands) }
        });
        let (buffer, stream) = made.map_err(|error| exception(&error))?;
        Ok(DeviceArray::new(buffer, stream, shape, self.ring.width()))
    }

    /// An operation on the device, into memory of a tensor's.
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
            // SAFETY: as above; the package does not write to a tensor that is read only.
            unsafe { run_lent(&self.engine, &self.ring, operation, handle.get(), &operands, output) }
        });
        ran.map_err(|error| exception(&error))
    }
}
