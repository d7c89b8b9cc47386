//! Runs every plan of every parameter set on every device.

use ringforge_ctru_prime::CtruPrime;

ringforge_testkit::suite!(CtruPrime);
