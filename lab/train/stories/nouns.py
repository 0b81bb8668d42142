"""Words used in requests for stories."""
PLACES = set('''park forest garden house school beach lake river farm zoo castle kitchen mountain hill cave field store
shop market pond sea ocean village town city woods playground library jungle island desert meadow barn bridge
backyard yard road attic museum hospital bakery bedroom bathroom pool stream valley'''.split())
NOUNS = PLACES | set('''ball hat kite cake tree flower box doll car truck train boat book bike toy balloon cookie apple
star moon sun snow rain cloud rock stick shell treasure map key crown ring dress coat shoe sock boot blanket bed
chair table cup bowl spoon pot pie soup bread honey cheese carrot banana orange berry egg fish bird dog cat bear
bunny rabbit fox mouse frog horse cow pig duck bee butterfly spider ant snail turtle squirrel owl lion elephant
monkey dragon fairy princess prince king queen wizard witch robot rocket plane ship drum guitar piano bell candle
lamp mirror window door ladder rope net hammer jar bottle basket bag purse coin necklace feather nest leaf seed
mushroom pumpkin tomato potato sandwich pizza candy ice juice milk tea letter picture pencil crayon paint puzzle
swing slide sandcastle tower tent umbrella bucket shovel rainbow snowman storm wind fire puppy kitten lamb goat
sheep hen chick shark whale dolphin crab octopus'''.split())
TRAITS = set('''little big small brave kind happy sad shy clever smart lonely old young curious lazy naughty friendly
funny greedy tiny hungry angry proud silly wise strong gentle playful scared poor rich selfish red blue green yellow
white black brown pink purple golden magic special pretty beautiful ugly fast slow loud quiet grumpy helpful'''.split())
