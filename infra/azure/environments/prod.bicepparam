using '../main.bicep'

param environmentName = readEnvironmentVariable('AZURE_ENV_NAME', 'prod')
param image = readEnvironmentVariable('FRONTDESK_IMAGE', '')
param location = readEnvironmentVariable('AZURE_LOCATION', 'westeurope')
param databasePassword = readEnvironmentVariable('FRONTDESK_DATABASE_PASSWORD')
param adminToken = readEnvironmentVariable('FRONTDESK_ADMIN_TOKEN')
param modelLocation = readEnvironmentVariable('FRONTDESK_MODEL_LOCATION', '')
param confluenceUrl = readEnvironmentVariable('CONFLUENCE_URL', '')
param confluenceEmail = readEnvironmentVariable('CONFLUENCE_EMAIL', '')
param confluenceToken = readEnvironmentVariable('CONFLUENCE_TOKEN', '')
param confluenceSpaces = readEnvironmentVariable('CONFLUENCE_SPACES', '')
param confluenceEveryoneGroups = readEnvironmentVariable('CONFLUENCE_EVERYONE_GROUPS', '')
param slackBotToken = readEnvironmentVariable('SLACK_BOT_TOKEN', '')
param slackSigningSecret = readEnvironmentVariable('SLACK_SIGNING_SECRET', '')
param slackEscalationChannel = readEnvironmentVariable('SLACK_ESCALATION_CHANNEL', '')
param teamsEscalationChannel = readEnvironmentVariable('TEAMS_ESCALATION_CHANNEL', '')
param tags = { environment: 'prod' }
param searchSku = 'standard'
param searchReplicas = 2
param semanticRanker = 'standard'
param databaseSku = { name: 'Standard_D2ds_v5', tier: 'GeneralPurpose' }
param databaseZoneRedundant = true
param storageSku = 'Standard_GRS'
param minReplicas = 2
param maxReplicas = 6
