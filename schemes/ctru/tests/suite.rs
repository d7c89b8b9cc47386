//! Runs every plan of every parameter set on every device.

use ringforge_ctru::Ctru;

ringforge_testkit::suite!(Ctru);
