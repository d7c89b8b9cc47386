//! Transforms that several kernels share out agree with those in one piece.

use ringforge_tests::shared_out::SharedOut;

ringforge::suite!(SharedOut);
