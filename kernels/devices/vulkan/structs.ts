/**
 * The structures of Vulkan that rgx uses, under their names in `vulkan_core.h`. Fields that are not
 * used are joined into arrays called `skipped…`. `structs_test.ts` compares sizes and offsets with
 * those of a C compiler.
 */
import { Struct } from "./memory_layout.ts";

export const VkApplicationInfo = new Struct("VkApplicationInfo", 0, {
  pApplicationName: "pointer",
  applicationVersion: "u32",
  pEngineName: "pointer",
  engineVersion: "u32",
  apiVersion: "u32",
});
export const VkInstanceCreateInfo = new Struct("VkInstanceCreateInfo", 1, {
  flags: "u32",
  pApplicationInfo: "pointer",
  skippedLayers: "u64*2",
  enabledExtensionCount: "u32",
  ppEnabledExtensionNames: "pointer",
});
export const VkDeviceQueueCreateInfo = new Struct("VkDeviceQueueCreateInfo", 2, {
  flags: "u32",
  queueFamilyIndex: "u32",
  queueCount: "u32",
  pQueuePriorities: "pointer",
});
export const VkDeviceCreateInfo = new Struct("VkDeviceCreateInfo", 3, {
  flags: "u32",
  queueCreateInfoCount: "u32",
  pQueueCreateInfos: "pointer",
  skippedLayers: "u64*2",
  enabledExtensionCount: "u32",
  ppEnabledExtensionNames: "pointer",
  skippedFeatures: "pointer",
});
export const VkSubmitInfo = new Struct("VkSubmitInfo", 4, {
  skippedWaits: "u64*3",
  commandBufferCount: "u32",
  pCommandBuffers: "pointer",
  signalSemaphoreCount: "u32",
  pSignalSemaphores: "pointer",
});
export const VkMemoryAllocateInfo = new Struct("VkMemoryAllocateInfo", 5, {
  allocationSize: "u64",
  memoryTypeIndex: "u32",
});
export const VkSemaphoreCreateInfo = new Struct("VkSemaphoreCreateInfo", 9, { flags: "u32" });
export const VkQueryPoolCreateInfo = new Struct("VkQueryPoolCreateInfo", 11, {
  flags: "u32",
  queryType: "u32",
  queryCount: "u32",
  pipelineStatistics: "u32",
});
export const VkBufferCreateInfo = new Struct("VkBufferCreateInfo", 12, {
  flags: "u32",
  size: "u64",
  usage: "u32",
  skippedSharing: "u32*5",
});
export const VkShaderModuleCreateInfo = new Struct("VkShaderModuleCreateInfo", 16, {
  flags: "u32",
  codeSize: "u64",
  pCode: "pointer",
});
export const VkPipelineShaderStageCreateInfo = new Struct("VkPipelineShaderStageCreateInfo", 18, {
  flags: "u32",
  stage: "u32",
  module: "u64",
  pName: "pointer",
  pSpecializationInfo: "pointer",
});
export const VkComputePipelineCreateInfo = new Struct("VkComputePipelineCreateInfo", 29, {
  flags: "u32",
  stage: VkPipelineShaderStageCreateInfo,
  layout: "u64",
  basePipelineHandle: "u64",
  basePipelineIndex: "i32",
});
export const VkPipelineLayoutCreateInfo = new Struct("VkPipelineLayoutCreateInfo", 30, {
  flags: "u32",
  setLayoutCount: "u32",
  pSetLayouts: "pointer",
  skippedConstants: "u64*2",
});
export const VkDescriptorSetLayoutCreateInfo = new Struct("VkDescriptorSetLayoutCreateInfo", 32, {
  flags: "u32",
  bindingCount: "u32",
  pBindings: "pointer",
});
export const VkDescriptorSetLayoutBinding = new Struct("VkDescriptorSetLayoutBinding", null, {
  binding: "u32",
  descriptorType: "u32",
  descriptorCount: "u32",
  stageFlags: "u32",
  pImmutableSamplers: "pointer",
});
export const VkDescriptorPoolCreateInfo = new Struct("VkDescriptorPoolCreateInfo", 33, {
  flags: "u32",
  maxSets: "u32",
  poolSizeCount: "u32",
  pPoolSizes: "pointer",
});
export const VkDescriptorPoolSize = new Struct("VkDescriptorPoolSize", null, {
  type: "u32",
  descriptorCount: "u32",
});
export const VkDescriptorSetAllocateInfo = new Struct("VkDescriptorSetAllocateInfo", 34, {
  descriptorPool: "u64",
  descriptorSetCount: "u32",
  pSetLayouts: "pointer",
});
export const VkWriteDescriptorSet = new Struct("VkWriteDescriptorSet", 35, {
  dstSet: "u64",
  dstBinding: "u32",
  dstArrayElement: "u32",
  descriptorCount: "u32",
  descriptorType: "u32",
  pImageInfo: "pointer",
  pBufferInfo: "pointer",
  pTexelBufferView: "pointer",
});
export const VkDescriptorBufferInfo = new Struct("VkDescriptorBufferInfo", null, {
  buffer: "u64",
  offset: "u64",
  range: "u64",
});
export const VkCommandPoolCreateInfo = new Struct("VkCommandPoolCreateInfo", 39, {
  flags: "u32",
  queueFamilyIndex: "u32",
});
export const VkCommandBufferAllocateInfo = new Struct("VkCommandBufferAllocateInfo", 40, {
  commandPool: "u64",
  level: "u32",
  commandBufferCount: "u32",
});
export const VkCommandBufferBeginInfo = new Struct("VkCommandBufferBeginInfo", 42, {
  flags: "u32",
  pInheritanceInfo: "pointer",
});
export const VkMemoryBarrier = new Struct("VkMemoryBarrier", 46, {
  srcAccessMask: "u32",
  dstAccessMask: "u32",
});
export const VkBufferCopy = new Struct("VkBufferCopy", null, {
  srcOffset: "u64",
  dstOffset: "u64",
  size: "u64",
});
export const VkSemaphoreTypeCreateInfo = new Struct("VkSemaphoreTypeCreateInfo", 1000207002, {
  semaphoreType: "u32",
  initialValue: "u64",
});
export const VkTimelineSemaphoreSubmitInfo = new Struct(
  "VkTimelineSemaphoreSubmitInfo",
  1000207003,
  {
    skippedWaits: "u64*2",
    signalSemaphoreValueCount: "u32",
    pSignalSemaphoreValues: "pointer",
  },
);
export const VkSemaphoreWaitInfo = new Struct("VkSemaphoreWaitInfo", 1000207004, {
  flags: "u32",
  semaphoreCount: "u32",
  pSemaphores: "pointer",
  pValues: "pointer",
});

export const VkMemoryRequirements = new Struct("VkMemoryRequirements", null, {
  size: "u64",
  alignment: "u64",
  memoryTypeBits: "u32",
});
export const VkMemoryType = new Struct("VkMemoryType", null, {
  propertyFlags: "u32",
  heapIndex: "u32",
});
export const VkMemoryHeap = new Struct("VkMemoryHeap", null, { size: "u64", flags: "u32" });
export const VkPhysicalDeviceMemoryProperties = new Struct(
  "VkPhysicalDeviceMemoryProperties",
  null,
  {
    memoryTypeCount: "u32",
    memoryTypes: "u32*64",
    memoryHeapCount: "u32",
    memoryHeaps: "u64*32",
  },
);
export const VkExtensionProperties = new Struct("VkExtensionProperties", null, {
  extensionName: "u8*256",
  specVersion: "u32",
});
export const VkQueueFamilyProperties = new Struct("VkQueueFamilyProperties", null, {
  queueFlags: "u32",
  queueCount: "u32",
  timestampValidBits: "u32",
  minImageTransferGranularity: "u32*3",
});
export const VkPhysicalDeviceLimits = new Struct("VkPhysicalDeviceLimits", null, {
  skipped1: "u32*7",
  maxStorageBufferRange: "u32",
  skipped2: "u32*11",
  maxPerStageDescriptorStorageBuffers: "u32",
  skipped3: "u32*34",
  maxComputeSharedMemorySize: "u32",
  maxComputeWorkGroupCount: "u32*3",
  maxComputeWorkGroupInvocations: "u32",
  skipped4: "u32*47",
  timestampPeriod: "f32",
  skipped5: "u64*9",
});
export const VkPhysicalDeviceProperties = new Struct("VkPhysicalDeviceProperties", null, {
  apiVersion: "u32",
  driverVersion: "u32",
  vendorID: "u32",
  deviceID: "u32",
  deviceType: "u32",
  deviceName: "u8*256",
  pipelineCacheUUID: "u8*16",
  limits: VkPhysicalDeviceLimits,
  sparseProperties: "u32*5",
});
export const VkPhysicalDeviceProperties2 = new Struct("VkPhysicalDeviceProperties2", 1000059001, {
  properties: VkPhysicalDeviceProperties,
});
export const VkPhysicalDevicePCIBusInfoPropertiesEXT = new Struct(
  "VkPhysicalDevicePCIBusInfoPropertiesEXT",
  1000212000,
  { pciDomain: "u32", pciBus: "u32", pciDevice: "u32", pciFunction: "u32" },
);
export const VkPhysicalDeviceDriverProperties = new Struct(
  "VkPhysicalDeviceDriverProperties",
  1000196000,
  {
    driverID: "u32",
    driverName: "u8*256",
    driverInfo: "u8*256",
    conformanceVersion: "u8*4",
  },
);
export const VkPhysicalDeviceMaintenance3Properties = new Struct(
  "VkPhysicalDeviceMaintenance3Properties",
  1000168000,
  { maxPerSetDescriptors: "u32", maxMemoryAllocationSize: "u64" },
);
export const VkPhysicalDeviceMaintenance4Properties = new Struct(
  "VkPhysicalDeviceMaintenance4Properties",
  1000413001,
  { maxBufferSize: "u64" },
);
export const VkPhysicalDeviceSubgroupProperties = new Struct(
  "VkPhysicalDeviceSubgroupProperties",
  1000094000,
  {
    subgroupSize: "u32",
    skipped: "u32*3",
  },
);

export const VkPhysicalDeviceFeatures = new Struct("VkPhysicalDeviceFeatures", null, {
  robustBufferAccess: "u32",
  skipped1: "u32*40",
  shaderInt16: "u32",
  skipped2: "u32*13",
});
export const VkPhysicalDeviceFeatures2 = new Struct("VkPhysicalDeviceFeatures2", 1000059000, {
  features: VkPhysicalDeviceFeatures,
});
export const VkPhysicalDeviceVulkan11Features = new Struct("VkPhysicalDeviceVulkan11Features", 49, {
  storageBuffer16BitAccess: "u32",
  uniformAndStorageBuffer16BitAccess: "u32",
  skipped: "u32*10",
});
export const VkPhysicalDeviceVulkan12Features = new Struct("VkPhysicalDeviceVulkan12Features", 51, {
  skipped1: "u32*7",
  shaderFloat16: "u32",
  skipped2: "u32*29",
  timelineSemaphore: "u32",
  bufferDeviceAddress: "u32",
  skipped3: "u32*2",
  vulkanMemoryModel: "u32",
  vulkanMemoryModelDeviceScope: "u32",
  skipped4: "u32*4",
});
export const VkPhysicalDeviceVulkan13Features = new Struct("VkPhysicalDeviceVulkan13Features", 53, {
  skipped1: "u32*7",
  subgroupSizeControl: "u32",
  computeFullSubgroups: "u32",
  skipped2: "u32*2",
  shaderZeroInitializeWorkgroupMemory: "u32",
  skipped3: "u32*2",
  maintenance4: "u32",
});
export const VkPhysicalDeviceCooperativeMatrixFeaturesKHR = new Struct(
  "VkPhysicalDeviceCooperativeMatrixFeaturesKHR",
  1000506000,
  { cooperativeMatrix: "u32", cooperativeMatrixRobustBufferAccess: "u32" },
);
export const VkCooperativeMatrixPropertiesKHR = new Struct(
  "VkCooperativeMatrixPropertiesKHR",
  1000506001,
  {
    MSize: "u32",
    NSize: "u32",
    KSize: "u32",
    AType: "u32",
    BType: "u32",
    CType: "u32",
    ResultType: "u32",
    saturatingAccumulation: "u32",
    scope: "u32",
  },
);
export const VkPipelineShaderStageRequiredSubgroupSizeCreateInfo = new Struct(
  "VkPipelineShaderStageRequiredSubgroupSizeCreateInfo",
  1000225001,
  { requiredSubgroupSize: "u32" },
);
export const VkPhysicalDeviceRobustness2FeaturesEXT = new Struct(
  "VkPhysicalDeviceRobustness2FeaturesEXT",
  1000286000,
  { robustBufferAccess2: "u32", skipped: "u32*2" },
);
