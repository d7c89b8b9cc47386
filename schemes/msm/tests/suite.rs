//! Runs the plans of the scheme `Msm` on every device.
ringforge_testkit::suite!(ringforge_msm::Msm);
