//! Vectors of 128 bits: what a machine with simd128 does at once, and the same without one, so that it can be tried anywhere.

pub use self::machine::{Narrow, Wide};

#[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
mod machine {
    use core::arch::wasm32::*;

    /// Four numbers of 32 bits.
    #[derive(Clone, Copy, Debug)]
    pub struct Narrow(v128);

    /// Two numbers of 64 bits.
    #[derive(Clone, Copy, Debug)]
    pub struct Wide(v128);

    impl Narrow {
        /// The same number four times.
        #[inline(always)]
        pub fn all(number: i32) -> Narrow {
            Narrow(i32x4_splat(number))
        }

        /// These numbers.
        #[inline(always)]
        pub fn of([a, b, c, d]: [i32; 4]) -> Narrow {
            Narrow(i32x4(a, b, c, d))
        }

        /// The numbers.
        #[inline(always)]
        pub fn numbers(self) -> [i32; 4] {
            let a = self.0;
            [
                i32x4_extract_lane::<0>(a),
                i32x4_extract_lane::<1>(a),
                i32x4_extract_lane::<2>(a),
                i32x4_extract_lane::<3>(a),
            ]
        }

        /// The sums.
        #[inline(always)]
        pub fn plus(self, other: Narrow) -> Narrow {
            Narrow(i32x4_add(self.0, other.0))
        }

        /// The differences.
        #[inline(always)]
        pub fn minus(self, other: Narrow) -> Narrow {
            Narrow(i32x4_sub(self.0, other.0))
        }

        /// The bits that are set in one of the two.
        #[inline(always)]
        pub fn differing(self, other: Narrow) -> Narrow {
            Narrow(v128_xor(self.0, other.0))
        }

        /// The bits that are set in both.
        #[inline(always)]
        pub fn common(self, other: Narrow) -> Narrow {
            Narrow(v128_and(self.0, other.0))
        }

        /// The products of numbers with a sign: of the first two, and of the last two.
        #[inline(always)]
        pub fn times(self, other: Narrow) -> [Wide; 2] {
            [
                Wide(i64x2_extmul_low_i32x4(self.0, other.0)),
                Wide(i64x2_extmul_high_i32x4(self.0, other.0)),
            ]
        }

        /// The numbers, none below 0, with 64 bits each.
        #[inline(always)]
        pub fn wide(self) -> [Wide; 2] {
            [
                Wide(u64x2_extend_low_u32x4(self.0)),
                Wide(u64x2_extend_high_u32x4(self.0)),
            ]
        }

        /// The lower halves.
        #[inline(always)]
        pub fn low([first, last]: [Wide; 2]) -> Narrow {
            Narrow(i32x4_shuffle::<0, 2, 4, 6>(first.0, last.0))
        }
    }

    impl Wide {
        /// The same number twice.
        #[inline(always)]
        pub fn all(number: i64) -> Wide {
            Wide(i64x2_splat(number))
        }

        /// The sums, modulo 2^64.
        #[inline(always)]
        pub fn plus(self, other: Wide) -> Wide {
            Wide(i64x2_add(self.0, other.0))
        }

        /// The differences, modulo 2^64.
        #[inline(always)]
        pub fn minus(self, other: Wide) -> Wide {
            Wide(i64x2_sub(self.0, other.0))
        }

        /// The bits that are set in both.
        #[inline(always)]
        pub fn common(self, other: Wide) -> Wide {
            Wide(v128_and(self.0, other.0))
        }

        /// Moved towards the higher bits.
        #[inline(always)]
        pub fn up(self, bits: u32) -> Wide {
            Wide(i64x2_shl(self.0, bits))
        }

        /// Moved towards the lower bits; zeros follow.
        #[inline(always)]
        pub fn down(self, bits: u32) -> Wide {
            Wide(u64x2_shr(self.0, bits))
        }
    }
}

#[cfg(not(all(target_arch = "wasm32", target_feature = "simd128")))]
mod machine {
    /// Four numbers of 32 bits.
    #[derive(Clone, Copy, Debug)]
    pub struct Narrow([i32; 4]);

    /// Two numbers of 64 bits.
    #[derive(Clone, Copy, Debug)]
    pub struct Wide([i64; 2]);

    impl Narrow {
        fn with(self, other: Narrow, act: fn(i32, i32) -> i32) -> Narrow {
            let mut all = self.0;
            for (one, other) in all.iter_mut().zip(other.0) {
                *one = act(*one, other);
            }
            Narrow(all)
        }

        /// The same number four times.
        pub fn all(number: i32) -> Narrow {
            Narrow([number; 4])
        }

        /// These numbers.
        pub fn of(numbers: [i32; 4]) -> Narrow {
            Narrow(numbers)
        }

        /// The numbers.
        pub fn numbers(self) -> [i32; 4] {
            self.0
        }

        /// The sums.
        pub fn plus(self, other: Narrow) -> Narrow {
            self.with(other, |one, other| one + other)
        }

        /// The differences.
        pub fn minus(self, other: Narrow) -> Narrow {
            self.with(other, |one, other| one - other)
        }

        /// The bits that are set in one of the two.
        pub fn differing(self, other: Narrow) -> Narrow {
            self.with(other, |one, other| one ^ other)
        }

        /// The bits that are set in both.
        pub fn common(self, other: Narrow) -> Narrow {
            self.with(other, |one, other| one & other)
        }

        /// The products of numbers with a sign: of the first two, and of the last two.
        pub fn times(self, other: Narrow) -> [Wide; 2] {
            let ([a, b, c, d], [e, f, g, h]) = (self.0.map(i64::from), other.0.map(i64::from));
            [Wide([a * e, b * f]), Wide([c * g, d * h])]
        }

        /// The numbers, none below 0, with 64 bits each.
        pub fn wide(self) -> [Wide; 2] {
            let [a, b, c, d] = self.0.map(|number| i64::from(number as u32));
            [Wide([a, b]), Wide([c, d])]
        }

        /// The lower halves.
        pub fn low([first, last]: [Wide; 2]) -> Narrow {
            let ([a, b], [c, d]) = (first.0, last.0);
            Narrow([a, b, c, d].map(|number| number as i32))
        }
    }

    impl Wide {
        fn with(self, other: Wide, act: fn(i64, i64) -> i64) -> Wide {
            let ([a, b], [c, d]) = (self.0, other.0);
            Wide([act(a, c), act(b, d)])
        }

        /// The same number twice.
        pub fn all(number: i64) -> Wide {
            Wide([number; 2])
        }

        /// The sums, modulo 2^64.
        pub fn plus(self, other: Wide) -> Wide {
            self.with(other, i64::wrapping_add)
        }

        /// The differences, modulo 2^64.
        pub fn minus(self, other: Wide) -> Wide {
            self.with(other, i64::wrapping_sub)
        }

        /// The bits that are set in both.
        pub fn common(self, other: Wide) -> Wide {
            self.with(other, |one, other| one & other)
        }

        /// Moved towards the higher bits.
        pub fn up(self, bits: u32) -> Wide {
            Wide(self.0.map(|number| number << bits))
        }

        /// Moved towards the lower bits; zeros follow.
        pub fn down(self, bits: u32) -> Wide {
            Wide(self.0.map(|number| (number as u64 >> bits) as i64))
        }
    }
}
