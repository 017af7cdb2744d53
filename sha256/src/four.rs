//! Four words of 32 bits: what a machine with simd128 does at once, and the same without one, so that it can be tried anywhere.

pub use self::machine::Four;

#[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
mod machine {
    use core::arch::wasm32::*;

    /// Four words.
    #[derive(Clone, Copy, Debug)]
    pub struct Four(v128);

    impl Four {
        /// The same word four times.
        #[inline(always)]
        pub fn all(word: u32) -> Four {
            Four(u32x4_splat(word))
        }

        /// The words of these bytes, the highest first.
        #[inline(always)]
        pub fn of(bytes: [&[u8; 4]; 4]) -> Four {
            let [a, b, c, d] = bytes.map(|bytes| u32::from_le_bytes(*bytes));
            let turned = u32x4(a, b, c, d);
            Four(i8x16_shuffle::<
                3,
                2,
                1,
                0,
                7,
                6,
                5,
                4,
                11,
                10,
                9,
                8,
                15,
                14,
                13,
                12,
            >(turned, turned))
        }

        /// The same words but one.
        pub fn with(self, place: usize, word: u32) -> Four {
            let mut words = self.words();
            if let Some(slot) = words.get_mut(place) {
                *slot = word;
            }
            let [a, b, c, d] = words;
            Four(u32x4(a, b, c, d))
        }

        /// The words.
        #[inline(always)]
        pub fn words(self) -> [u32; 4] {
            let a = self.0;
            [
                u32x4_extract_lane::<0>(a),
                u32x4_extract_lane::<1>(a),
                u32x4_extract_lane::<2>(a),
                u32x4_extract_lane::<3>(a),
            ]
        }

        /// The sums, modulo 2^32.
        #[inline(always)]
        pub fn plus(self, other: Four) -> Four {
            Four(u32x4_add(self.0, other.0))
        }

        /// The bits that are set in one of the two.
        #[inline(always)]
        pub fn differing(self, other: Four) -> Four {
            Four(v128_xor(self.0, other.0))
        }

        /// The bits of one where this one's are set, and of the other where they are not.
        #[inline(always)]
        pub fn choose(self, one: Four, other: Four) -> Four {
            Four(v128_bitselect(one.0, other.0, self.0))
        }

        /// Moved towards the lower bits; zeros follow.
        #[inline(always)]
        pub fn down(self, bits: u32) -> Four {
            Four(u32x4_shr(self.0, bits))
        }

        /// Moved towards the lower bits, round.
        #[inline(always)]
        pub fn round(self, bits: u32) -> Four {
            Four(v128_or(u32x4_shr(self.0, bits), u32x4_shl(self.0, 32 - bits)))
        }
    }
}

#[cfg(not(all(target_arch = "wasm32", target_feature = "simd128")))]
mod machine {
    /// Four words.
    #[derive(Clone, Copy, Debug)]
    pub struct Four([u32; 4]);

    impl Four {
        fn each(self, other: Four, act: fn(u32, u32) -> u32) -> Four {
            let ([a, b, c, d], [e, f, g, h]) = (self.0, other.0);
            Four([act(a, e), act(b, f), act(c, g), act(d, h)])
        }

        /// The same word four times.
        pub fn all(word: u32) -> Four {
            Four([word; 4])
        }

        /// The words of these bytes, the highest first.
        pub fn of(bytes: [&[u8; 4]; 4]) -> Four {
            Four(bytes.map(|bytes| u32::from_be_bytes(*bytes)))
        }

        /// The same words but one.
        pub fn with(self, place: usize, word: u32) -> Four {
            let mut words = self.0;
            if let Some(slot) = words.get_mut(place) {
                *slot = word;
            }
            Four(words)
        }

        /// The words.
        pub fn words(self) -> [u32; 4] {
            self.0
        }

        /// The sums, modulo 2^32.
        pub fn plus(self, other: Four) -> Four {
            self.each(other, u32::wrapping_add)
        }

        /// The bits that are set in one of the two.
        pub fn differing(self, other: Four) -> Four {
            self.each(other, |one, other| one ^ other)
        }

        /// The bits of one where this one's are set, and of the other where they are not.
        pub fn choose(self, one: Four, other: Four) -> Four {
            let set = self.each(one, |bits, one| bits & one);
            set.differing(self.each(other, |bits, other| !bits & other))
        }

        /// Moved towards the lower bits; zeros follow.
        pub fn down(self, bits: u32) -> Four {
            Four(self.0.map(|word| word >> bits))
        }

        /// Moved towards the lower bits, round.
        pub fn round(self, bits: u32) -> Four {
            Four(self.0.map(|word| word.rotate_right(bits)))
        }
    }
}
