//! Numbers from a seed: the same in every run, and edges more often than chance would have them.

/// SplitMix64.
pub struct Random(u64);

impl Random {
    /// Each area has a stream of its own.
    pub fn new(seed: u64, area: u64) -> Random {
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ area << 56)
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let x = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ x >> 31
    }

    /// From 0 to below `bound`.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    pub fn one_of<'a, T>(&mut self, list: &'a [T]) -> &'a T {
        &list[self.below(list.len() as u64) as usize]
    }

    pub fn uniform(&mut self) -> [u8; 32] {
        let mut bytes = [0; 32];
        for part in bytes.chunks_mut(8) {
            part.copy_from_slice(&self.next().to_be_bytes());
        }
        bytes
    }

    /// 32 bytes: uniform, long runs of equal bits, or close to one of `edges`.
    pub fn bytes(&mut self, edges: &[[u8; 32]]) -> [u8; 32] {
        match self.below(4) {
            0 | 1 => self.uniform(),
            2 => {
                let mut bytes = [0; 32];
                let (mut at, mut bit) = (0, self.below(2) as u8);
                while at < 256 {
                    let end = (at + 1 + self.below(90) as usize).min(256);
                    (at..end).for_each(|at| bytes[at / 8] |= bit << (at % 8));
                    (at, bit) = (end, 1 - bit);
                }
                bytes
            }
            _ => {
                let edge = *self.one_of(edges);
                let offset = self.below(6) as u8;
                let down = self.below(2) == 0;
                near(edge, offset, down)
            }
        }
    }

    /// Limbs of either sign up to `most`, at the bounds in every second case.
    pub fn limbs(&mut self, least: &[i32; 9], most: &[i32; 9]) -> [i32; 9] {
        let style = self.below(4);
        std::array::from_fn(|at| {
            let (least, most) = (i64::from(least[at]), i64::from(most[at]));
            let value = match if style == 3 { self.below(3) } else { style } {
                0 => least + (self.next() % (most - least + 1) as u64) as i64,
                1 => *self.one_of(&[least, most]),
                _ => (*self.one_of(&[0, 1, -1, (1 << 29) - 1, 1 << 29, (1 << 28), least + 1, most - 1]))
                    .clamp(least, most),
            };
            value as i32
        })
    }
}

/// `edge` plus or minus a little, modulo 2^256.
fn near(edge: [u8; 32], offset: u8, down: bool) -> [u8; 32] {
    let mut bytes = edge;
    let mut carry = i16::from(offset) * if down { -1 } else { 1 };
    for byte in bytes.iter_mut().rev() {
        let sum = i16::from(*byte) + carry;
        (*byte, carry) = (sum as u8, sum >> 8);
    }
    bytes
}
