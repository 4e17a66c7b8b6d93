//! Sets of numbers that are counted from 0, as nodes of a template are.

/// Which of many numbers are in: a bit for each up to the largest.
#[derive(Debug, Default)]
pub(super) struct Bits(Vec<u64>);

impl Bits {
    /// Whether it was not in before.
    pub(super) fn insert(&mut self, number: u32) -> bool {
        let word = number as usize / 64;
        if word >= self.0.len() {
            self.0.resize(word + 1, 0);
        }
        let bit = 1 << (number % 64);
        let is_new = self.0[word] & bit == 0;
        self.0[word] |= bit;
        is_new
    }

    pub(super) fn contains(&self, number: u32) -> bool {
        self.0.get(number as usize / 64).is_some_and(|word| word & (1 << (number % 64)) != 0)
    }

    /// All of them, in order.
    pub(super) fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        let of_word = |(at, word): (usize, &u64)| {
            let (first, mut left) = (at as u32 * 64, *word);
            std::iter::from_fn(move || {
                let bit = (left != 0).then(|| left.trailing_zeros())?;
                left &= left - 1;
                Some(first + bit)
            })
        };
        self.0.iter().enumerate().flat_map(of_word)
    }
}

#[cfg(test)]
mod tests {
    use super::Bits;

    #[test]
    fn what_was_put_in_is_in() {
        let mut bits = Bits::default();
        assert!(!bits.contains(0) && !bits.contains(9999));
        for number in [700, 0, 63, 64, 127] {
            assert!(bits.insert(number) && !bits.insert(number));
        }
        assert_eq!(bits.iter().collect::<Vec<_>>(), [0, 63, 64, 127, 700]);
        assert!((0..800).all(|number| bits.contains(number) == [0, 63, 64, 127, 700].contains(&number)));
    }
}
