//! Runs every plan on every device.
ringforge_testkit::suite!(ringforge_sm2::Sm2);
