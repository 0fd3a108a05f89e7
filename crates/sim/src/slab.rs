//! Values at small stable numbers, reused after they are taken.

/// A pool of values; the number of a removed value is reused.
#[derive(Clone, Debug)]
pub(crate) struct Slab<T> {
    values: Vec<T>,
    free: Vec<u32>,
}

impl<T> Default for Slab<T> {
    fn default() -> Self {
        Self {
            values: Vec::new(),
            free: Vec::new(),
        }
    }
}

impl<T> Slab<T> {
    /// Stores `value`; returns its number.
    #[inline]
    pub(crate) fn put(&mut self, value: T) -> u32 {
        if let Some(number) = self.free.pop() {
            self.values[number as usize] = value;
            return number;
        }
        self.values.push(value);
        u32::try_from(self.values.len() - 1).expect("fewer than 2^32 packets are in flight")
    }

    /// The number of stored values.
    pub(crate) fn len(&self) -> usize {
        self.values.len() - self.free.len()
    }

    pub(crate) fn get(&self, number: u32) -> &T {
        &self.values[number as usize]
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, number: u32) -> &mut T {
        &mut self.values[number as usize]
    }

    /// Frees the number; its value stays readable until the number is reused.
    #[inline]
    pub(crate) fn release(&mut self, number: u32) -> &T {
        self.free.push(number);
        &self.values[number as usize]
    }
}

impl<T> Slab<Option<T>> {
    /// Takes a value and frees its number; `None` if it was taken before.
    pub(crate) fn take(&mut self, number: u32) -> Option<T> {
        let value = self.get_mut(number).take();
        if value.is_some() {
            self.release(number);
        }
        value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reuses_numbers() {
        let mut slab = Slab::default();
        let (a, b) = (slab.put('a'), slab.put('b'));
        assert_eq!((a, b), (0, 1));
        assert_eq!(*slab.release(a), 'a');
        assert_eq!(slab.len(), 1);
        assert_eq!(slab.put('c'), a);
        assert_eq!(*slab.get_mut(a), 'c');
    }

    #[test]
    fn takes_a_value_once() {
        let mut slab = Slab::default();
        let a = slab.put(Some('a'));
        assert_eq!((slab.take(a), slab.take(a)), (Some('a'), None));
        let others = [slab.put(Some('b')), slab.put(Some('c'))];
        assert_ne!(others[0], others[1], "no number is free twice");
    }
}
