package mrz

// CheckDigit returns the check digit of the characters, '0' to '9'. It is the sum of
// their values, weighted by 7, 3, 1 in turn, modulo 10. A digit has its own value,
// letters have 10 to 35, and fillers 0 (Doc 9303 part 3, section 4.9). The characters
// must be in the Alphabet.
func CheckDigit(chars ...string) byte {
	sum, i := 0, 0
	for _, text := range chars {
		for _, char := range []byte(text) {
			sum += value(char) * [...]int{7, 3, 1}[i%3]
			i++
		}
	}
	return byte('0' + sum%10)
}

func value(char byte) int {
	switch {
	case char >= '0' && char <= '9':
		return int(char - '0')
	case char >= 'A' && char <= 'Z':
		return int(char-'A') + 10
	}
	return 0
}
