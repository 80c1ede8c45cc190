package age

// AgeBins is the number of whole ages the age model tells apart, from 0.
const AgeBins = 100

// DescriptorSize is the length of the age model's face descriptor.
const DescriptorSize = 1024
