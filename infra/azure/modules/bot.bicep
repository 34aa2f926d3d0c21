// The bot: answers, and takes events from Slack, Teams and browsers.
param location string
param tags object
param environmentId string
param environmentDomain string
param volume string
param image string
param registry string
param identity object
param vaultUri string
param readsConfluence bool
param hasSlack bool
param minReplicas int
param maxReplicas int
param variables object

var name = 'frontdesk'
var url = 'https://${name}.${environmentDomain}'

// The variable that each secret of the vault is given by.
var always = [
  { name: 'database-url', variable: 'DATABASE_URL' }
  { name: 'admin-token', variable: 'FRONTDESK_ADMIN_TOKEN' }
]
var wiki = [{ name: 'confluence-token', variable: 'CONFLUENCE_TOKEN' }]
var slack = [
  { name: 'slack-bot-token', variable: 'SLACK_BOT_TOKEN' }
  { name: 'slack-signing-secret', variable: 'SLACK_SIGNING_SECRET' }
]
// The very first deployment has no image yet: what runs then is somebody else's, is given nothing
// of ours, serves at a port of its own, and has nothing that could be probed.
var isPlaceholder = empty(image)
var port = isPlaceholder ? 80 : 3978
var ofTheBot = concat(always, readsConfluence ? wiki : [], hasSlack ? slack : [])
var secrets = isPlaceholder ? [] : ofTheBot

var settings = union(variables, {
  HOST: '0.0.0.0'
  PORT: '3978'
  PUBLIC_URL: url
  FRONTDESK_DATA_DIR: '/data'
  // Mapped into memory, which a network share is too unsteady for.
  FRONTDESK_CACHE_DIR: '/tmp/cache'
  AZURE_CLIENT_ID: identity.clientId
  AZURE_TOKEN_CREDENTIALS: 'ManagedIdentityCredential'
  MICROSOFT_APP_ID: identity.clientId
  MICROSOFT_APP_TYPE: 'UserAssignedMSI'
  MICROSOFT_APP_TENANT_ID: identity.tenantId
  // The job looks after the wiki; `/reindex` in chat works here all the same.
  CONFLUENCE_SYNC_MINUTES: '0'
  CONFLUENCE_RECONCILE_MINUTES: '0'
})
var plain = [for one in items(settings): { name: one.key, value: one.value }]
var referenced = [for one in secrets: { name: one.variable, secretRef: one.name }]
var environment = isPlaceholder ? [] : concat(plain, referenced)

var probes = [
  {
    type: 'Startup'
    httpGet: { path: '/health', port: 3978 }
    periodSeconds: 3
    failureThreshold: 40
  }
  {
    type: 'Liveness'
    httpGet: { path: '/health', port: 3978 }
    periodSeconds: 20
    timeoutSeconds: 5
    failureThreshold: 3
  }
  {
    type: 'Readiness'
    httpGet: { path: '/ready', port: 3978 }
    periodSeconds: 10
    timeoutSeconds: 5
    failureThreshold: 3
  }
]

resource app 'Microsoft.App/containerApps@2024-03-01' = {
  name: name
  location: location
  tags: tags
  // It could read the vault by it.
  identity: isPlaceholder ? { type: 'None' } : { type: 'UserAssigned', userAssignedIdentities: { '${identity.id}': {} } }
  properties: {
    environmentId: environmentId
    workloadProfileName: 'Consumption'
    configuration: {
      activeRevisionsMode: 'Single'
      ingress: { external: true, targetPort: port, transport: 'auto', allowInsecure: false }
      registries: isPlaceholder ? [] : [{ server: registry, identity: identity.id }]
      secrets: [
        for one in secrets: {
          name: one.name
          keyVaultUrl: '${vaultUri}secrets/${one.name}'
          identity: identity.id
        }
      ]
    }
    template: {
      // The server finishes what it has in hand in 25 s.
      terminationGracePeriodSeconds: 40
      containers: [
        {
          name: 'bot'
          image: isPlaceholder ? 'mcr.microsoft.com/azuredocs/containerapps-helloworld:latest' : image
          // An upload is read in a process of its own, which may take 2 GB.
          resources: { cpu: json('2.0'), memory: '4Gi' }
          env: environment
          volumeMounts: isPlaceholder ? [] : [{ volumeName: 'data', mountPath: '/data' }]
          probes: isPlaceholder ? [] : probes
        }
      ]
      scale: {
        minReplicas: minReplicas
        maxReplicas: maxReplicas
        rules: [
          { name: 'requests', http: { metadata: { concurrentRequests: '40' } } }
          { name: 'cpu', custom: { type: 'cpu', metadata: { type: 'Utilization', value: '70' } } }
        ]
      }
      volumes: [
        {
          name: 'data'
          storageType: 'AzureFile'
          storageName: volume
          // The image's user owns what it sees. Locks of SQLite are not what SMB means by a lock:
          // without `nobrl` every upload would be told that another one is under way.
          mountOptions: 'uid=10001,gid=10001,dir_mode=0700,file_mode=0600,nobrl'
        }
      ]
    }
  }
}

output url string = url
