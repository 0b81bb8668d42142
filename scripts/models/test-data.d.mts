export type TestDataName = 'onnx-node-tests' | 'llama-vocabularies'
export declare function testData(name: TestDataName): string | undefined
export declare function requireTestData(name: TestDataName): string
