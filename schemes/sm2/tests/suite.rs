//! Every plan on every device.
ringforge::suite!(ringforge_sm2::Sm2);
