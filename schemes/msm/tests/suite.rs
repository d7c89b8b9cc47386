//! Runs the plans of the schemes `Msm` and `WideMsm` on every device.
ringforge_testkit::suite!(ringforge_msm::Msm);

mod wide {
    ringforge_testkit::suite!(@ ringforge_msm::WideMsm, emulator Emulator, cuda Cuda);
}
