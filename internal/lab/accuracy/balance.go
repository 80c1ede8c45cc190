package accuracy

// Parameters of balance.
const (
	balanceYears           = 2 // on either side of an age
	leastWeight, topWeight = 0.4, 2.5
)

// balance returns a weight for each example, so that the groups count alike at
// each age. A set with many young women and few old ones would otherwise teach
// that a woman's face is young: women would be estimated too young and men too
// old. Examples without a group weigh 1.
func balance(all []Example) []float32 {
	total, byGroup := map[int]int{}, map[string]map[int]int{} // examples by age
	for _, e := range all {
		if e.Group == "" {
			continue
		}
		if byGroup[e.Group] == nil {
			byGroup[e.Group] = map[int]int{}
		}
		byGroup[e.Group][e.Age]++
		total[e.Age]++
	}
	weights := make([]float32, len(all))
	for i, e := range all {
		weights[i] = 1
		if e.Group != "" {
			share := float32(around(total, e.Age)) / float32(around(byGroup[e.Group], e.Age)*len(byGroup))
			weights[i] = min(max(share, leastWeight), topWeight)
		}
	}
	return weights
}

// around sums the counts of the ages within balanceYears of one.
func around(counts map[int]int, age int) int {
	sum := 0
	for near := age - balanceYears; near <= age+balanceYears; near++ {
		sum += counts[near]
	}
	return sum
}
