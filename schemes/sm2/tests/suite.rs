//! Runs every plan of the scheme `Sm2` on every device.
ringforge_testkit::suite!(ringforge_sm2::Sm2);
