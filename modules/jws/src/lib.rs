//! Nothing of its own: what the crate's boundary exports, with the features that the manifest names.

extern crate counterfoil as _;
